"""Gate 1: does the arm compute what the contract says?

Waits for both builds: a source that does not compile is told before a device works.

REQUIRED INPUTS:
    results/{claim}/{role}/build.json
OUTPUTS:
    results/{claim}/{role}/reference.json
"""


rule check_reference:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        source="results/{claim}/{role}/source.json",
        after="results/{claim}/{role}/build.json",
        both=ancient(expand("results/{{claim}}/{role}/build.json", role=ROLES)),
    output:
        "results/{claim}/{role}/reference.json",
    log:
        "logs/{claim}/{role}/reference.log",
    threads: gate_threads
    shell:
        """
        python workflow/scripts/check_reference.py \
            --role {wildcards.role} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.source:q} \
            --after {input.after:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
