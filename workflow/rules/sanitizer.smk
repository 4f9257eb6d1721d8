"""Gate 2: does the arm stay inside its memory, and do its threads meet as they must?

REQUIRED INPUTS:
    results/{claim}/{role}/build.json, reference.json
OUTPUTS:
    results/{claim}/control/{tool}.json
    results/{claim}/{role}/sanitizer/{tool}.json
"""


rule control_sanitizer:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        both=ancient(expand("results/{{claim}}/{role}/build.json", role=ROLES)),
    output:
        "results/{claim}/control/{tool}.json",
    log:
        "logs/{claim}/control/{tool}.log",
    threads: workflow.cores
    shell:
        """
        python workflow/scripts/control_sanitizer.py \
            --tool {wildcards.tool} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule run_sanitizer:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        source="results/{claim}/{role}/source.json",
        after=sanitizer_predecessors,
    output:
        "results/{claim}/{role}/sanitizer/{tool}.json",
    log:
        "logs/{claim}/{role}/sanitizer/{tool}.log",
    threads: workflow.cores
    shell:
        """
        python workflow/scripts/run_sanitizer.py \
            --role {wildcards.role} \
            --tool {wildcards.tool} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.source:q} \
            --after {input.after:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
