"""fivegates: a speedup claim goes through five gates and ends in a receipt."""

import shlex
import sys
from pathlib import Path
from snakemake.utils import min_version

min_version("9.21.1")


configfile: "config/config.yaml"


# Used only with --sdm apptainer; without it the rules run in the caller's environment.
container: "docker://quay.io/jupyter/scipy-notebook:python-3.11"


# Strict mode again, as a prefix replaces Snakemake's own; and an environment that is
# not activated still runs its own Python.
BIN = shlex.quote(str(Path(sys.executable).parent))
shell.prefix(
    f"set -euo pipefail; PATH={BIN.replace('{', '{{').replace('}', '}}')}:$PATH; "
)


include: "workflow/rules/common.smk"
include: "workflow/rules/claim.smk"
include: "workflow/rules/reference.smk"
include: "workflow/rules/sanitizer.smk"
include: "workflow/rules/timing.smk"
include: "workflow/rules/roofline.smk"
include: "workflow/rules/receipt.smk"


rule receipt:
    default_target: True
    input:
        verdict_file(config["claim"]),
    output:
        "results/receipt.json",
    log:
        "logs/receipt.log",
    shell:
        "cp {input:q} {output:q} 2>&1 | tee {log:q}"


rule all:
    input:
        [verdict_file(claim) for claim in config["claims"]],


rule judge:
    input:
        "results/receipt.json",
    log:
        "logs/judge.log",
    shell:
        "python workflow/scripts/verify_receipt.py {input:q} | tee {log:q}"
