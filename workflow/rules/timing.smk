"""Gate 3: is the candidate faster, by rounds inside sessions and across them?

On the host one job says of gates 3 and 4 that they need a device.

REQUIRED INPUTS:
    results/{claim}/{role}/build.json, reference.json, sanitizer/{tool}.json
OUTPUTS:
    results/{claim}/timing/{session}.json
    results/{claim}/timing.json
"""


rule time_session:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        sources=expand("results/{{claim}}/{role}/source.json", role=ROLES),
        builds=expand("results/{{claim}}/{role}/build.json", role=ROLES),
        references=expand("results/{{claim}}/{role}/reference.json", role=ROLES),
        sanitizers=sanitizer_records,
    output:
        "results/{claim}/timing/s{number}.json",
    log:
        "logs/{claim}/timing/s{number}.log",
    wildcard_constraints:
        claim=claims_on("cuda"),
    threads: workflow.cores
    shell:
        """
        python workflow/scripts/time_session.py \
            --session {wildcards.number} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.sources:q} \
            --after {input.builds:q} {input.references:q} {input.sanitizers:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule summarize_timing:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        sources=expand("results/{{claim}}/{role}/source.json", role=ROLES),
        after=session_records,
    output:
        "results/{claim}/timing.json",
    log:
        "logs/{claim}/timing.log",
    wildcard_constraints:
        claim=claims_on("cuda"),
    shell:
        """
        python workflow/scripts/summarize_timing.py \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.sources:q} \
            --after {input.after:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule refuse_timing:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        sources=expand("results/{{claim}}/{role}/source.json", role=ROLES),
        builds=expand("results/{{claim}}/{role}/build.json", role=ROLES),
        references=expand("results/{{claim}}/{role}/reference.json", role=ROLES),
        sanitizers=sanitizer_records,
    output:
        expand("results/{{claim}}/timing/{session}.json", session=SESSIONS),
        "results/{claim}/timing.json",
        "results/{claim}/roofline.json",
    log:
        "logs/{claim}/timing.log",
    wildcard_constraints:
        claim=claims_on("host"),
    shell:
        """
        python workflow/scripts/refuse_timing.py \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.sources:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
