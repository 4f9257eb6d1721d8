"""Gate 5: one receipt that binds every record, input and raw file by digest.

REQUIRED INPUTS:
    all records of results/{claim}/
OUTPUTS:
    results/{claim}/receipt.json
    results/{claim}/portfolio.json, for a claim with several workloads
"""


rule assemble_receipt:
    input:
        claim="results/{claim}/claim.json",
        backend="results/{claim}/backend.json",
        harness="results/{claim}/harness.json",
        sources=expand("results/{{claim}}/{role}/source.json", role=ROLES),
        builds=expand("results/{{claim}}/{role}/build.json", role=ROLES),
        references=expand("results/{{claim}}/{role}/reference.json", role=ROLES),
        controls=control_records,
        sanitizers=sanitizer_records,
        sessions=session_records,
        timing="results/{claim}/timing.json",
        roofline="results/{claim}/roofline.json",
        calibration=calibration,
    output:
        "results/{claim}/receipt.json",
    log:
        "logs/{claim}/receipt.log",
    shell:
        """
        python workflow/scripts/assemble_receipt.py \
            --documents {input:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """


rule assemble_portfolio:
    input:
        part_receipts,
    output:
        "results/{claim}/portfolio.json",
    log:
        "logs/{claim}/portfolio.log",
    wildcard_constraints:
        claim="|".join(PORTFOLIOS) or "(?!)",
    shell:
        """
        python workflow/scripts/assemble_portfolio.py \
            --receipts {input:q} \
            --output {output:q} 2>&1 | tee {log:q}
        """
