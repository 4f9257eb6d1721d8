"""Gate 4: are the times possible on this device, and how near its ceilings?

REQUIRED INPUTS:
    results/{claim}/timing.json
OUTPUTS:
    results/{claim}/roofline.json
"""


rule bound_roofline:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        sources=expand("results/{{claim}}/{role}/source.json", role=ROLES),
        after="results/{claim}/timing.json",
    output:
        "results/{claim}/roofline.json",
    log:
        "logs/{claim}/roofline.log",
    wildcard_constraints:
        claim=claims_on("cuda"),
    threads: workflow.cores
    shell:
        """
        python workflow/scripts/bound_roofline.py \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.sources:q} \
            --after {input.after:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
