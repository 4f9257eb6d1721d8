"""Gate 2: does the arm stay inside its memory, and do its threads meet as they must?

A device runs each tool by itself, memcheck first; one run of the host's checker answers
for all of its tools.

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
    wildcard_constraints:
        claim=claims_on("cuda"),
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
    wildcard_constraints:
        claim=claims_on("cuda"),
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


rule control_checker:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        both=ancient(expand("results/{{claim}}/{role}/build.json", role=ROLES)),
    output:
        expand("results/{{claim}}/control/{tool}.json", tool=TOOLS["host"]),
    log:
        "logs/{claim}/control.log",
    wildcard_constraints:
        claim=claims_on("host"),
    shell:
        """
        python workflow/scripts/control_checker.py \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule check_arm:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        source="results/{claim}/{role}/source.json",
        build="results/{claim}/{role}/build.json",
        reference="results/{claim}/{role}/reference.json",
        controls=expand("results/{{claim}}/control/{tool}.json", tool=TOOLS["host"]),
    output:
        expand("results/{{claim}}/{{role}}/sanitizer/{tool}.json", tool=TOOLS["host"]),
    log:
        "logs/{claim}/{role}/sanitizer.log",
    wildcard_constraints:
        claim=claims_on("host"),
    shell:
        """
        python workflow/scripts/check_arm.py \
            --role {wildcards.role} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.source:q} \
            --after {input.build:q} {input.reference:q} {input.controls:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
