"""Gate 1: does the arm compute what the contract says?

Waits for both builds: a source that does not compile is told before a device works.
What must come out is computed once, for both arms; it is no evidence, as it can be
computed again.

REQUIRED INPUTS:
    results/{claim}/claim.json, {role}/build.json
OUTPUTS:
    scratch/{claim}/oracle.npz
    results/{claim}/{role}/reference.json
"""


rule compute_oracle:
    input:
        claim="results/{claim}/claim.json",
        harness="results/{claim}/harness.json",
        contract=contract,
        both=ancient(expand("results/{{claim}}/{role}/build.json", role=ROLES)),
    output:
        "scratch/{claim}/oracle.npz",
    log:
        "logs/{claim}/oracle.log",
    shell:
        """
        python workflow/scripts/compute_oracle.py \
            --claim {input.claim:q} \
            --harness {input.harness:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule check_reference:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        source="results/{claim}/{role}/source.json",
        after="results/{claim}/{role}/build.json",
        oracle=ancient("scratch/{claim}/oracle.npz"),
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
            --oracle {input.oracle:q} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.source:q} \
            --after {input.after:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
