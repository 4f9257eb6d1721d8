"""Freeze the claim, pin what will judge it and what it judges, build both arms.

REQUIRED INPUTS:
    config/claims/{claim}.yaml
    kernels/<operation>/operation.py and the .cu of both arms
OUTPUTS:
    results/{claim}/harness.json, claim.json, backend.json
    results/{claim}/{role}/source.json, build.json
"""


rule pin_harness:
    input:
        HARNESS,
    output:
        "results/{claim}/harness.json",
    log:
        "logs/{claim}/harness.log",
    shell:
        """
        python workflow/scripts/pin_harness.py \
            --files {input:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule freeze_claim:
    input:
        harness="results/{claim}/harness.json",
        claim=ancient(claim_path),
        contract=contract,
    output:
        "results/{claim}/claim.json",
    log:
        "logs/{claim}/claim.log",
    params:
        meaning=claim_meaning,
        workload=workload_words,
        policy=json.dumps(config["policy"], sort_keys=True),
    shell:
        """
        python workflow/scripts/freeze_claim.py \
            --claim {input.claim:q} \
            {params.workload:q} \
            --policy {params.policy:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule identify_backend:
    input:
        claim="results/{claim}/claim.json",
        harness="results/{claim}/harness.json",
        contract=contract,
    output:
        "results/{claim}/backend.json",
    log:
        "logs/{claim}/backend.log",
    params:
        backend=chosen_backend,
    shell:
        """
        python workflow/scripts/identify_backend.py \
            --claim {input.claim:q} \
            --backend {params.backend:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule pin_source:
    input:
        claim="results/{claim}/claim.json",
        kernel=kernel_source,
        contract=contract,
    output:
        "results/{claim}/{role}/source.json",
    log:
        "logs/{claim}/{role}/source.log",
    shell:
        """
        python workflow/scripts/pin_source.py \
            --role {wildcards.role} \
            --kernel {input.kernel:q} \
            --contract {input.contract:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule build_arm:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        source="results/{claim}/{role}/source.json",
    output:
        "results/{claim}/{role}/build.json",
    log:
        "logs/{claim}/{role}/build.log",
    shell:
        """
        python workflow/scripts/build_arm.py \
            --role {wildcards.role} \
            --claim {input.claim:q} \
            --backend {input.backend:q} \
            --harness {input.harness:q} \
            --sources {input.source:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
