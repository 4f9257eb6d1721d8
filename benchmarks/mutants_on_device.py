"""Every fault in an operation's arms on a device: which gate or tool refuses it there.

Gate 1 as the pipeline runs it, but for how long it waits, then the tools of
compute-sanitizer on what it lets pass.

    python benchmarks/mutants_on_device.py OPERATION --output FILE.json
"""

import argparse
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from fivegates import device, sanitizer  # noqa: E402
from fivegates.checked_run import checker  # noqa: E402
from fivegates.claim import Claim  # noqa: E402
from fivegates.errors import EvidenceError  # noqa: E402
from fivegates.launch import Compiled, compile_source  # noqa: E402
from fivegates.revision import describe_revision  # noqa: E402
from fivegates.tools import find_compute_sanitizer  # noqa: E402
from mutation import (  # noqa: E402
    SURVIVED,
    Mutant,
    contract,
    judged,
    mutants,
    mutated_operations,
)

SAID_LIMIT = 300
# What a hang costs here; the pipeline waits longer.
REFERENCE_TIMEOUT_S = 40.0


def compiled(claim: Claim, role: str, source: str) -> Compiled:
    arm = claim.arms[role]
    return compile_source(
        source,
        name=arm.source,
        entry=arm.entry,
        options=arm.options,
        architecture=device.identify().architecture,
    )


def refused_by(claim: Claim, role: str, source: str) -> tuple[str, str]:
    """Gate or tool of a device that refuses the source, and what it says."""
    built = compiled(claim, role, source)
    launches = claim.policy.reference.launches
    if said := judged("cuda", claim, role, built.cubin, built.symbol, launches):
        return "reference", said
    for tool in sanitizer.TOOLS:
        if said := checked(claim, role, built, tool):
            return tool, said
    return SURVIVED, ""


def checked(claim: Claim, role: str, built: Compiled, tool: str) -> str:
    """What one tool of compute-sanitizer has against an arm."""
    operation = contract(claim.operation, claim.workload.dtype)
    check = checker(tool, claim.policy.sanitizer)
    measured, logs = check.run_arm(claim, operation, role, built.cubin, built.symbol)
    texts = {name: data.decode(errors="replace") for name, data in logs.items()}
    found = sanitizer.derive(tool, [measured], texts)
    verdict = sanitizer.decide([measured], found)
    return "" if verdict.status == "pass" else f"{verdict.reason}: {verdict.message}"


def hurried(claim: Claim) -> Claim:
    """The claim with a gate 1 that does not wait long for a kernel that hangs."""
    policy = claim.policy
    reference = replace(policy.reference, timeout_s=REFERENCE_TIMEOUT_S)
    return replace(claim, policy=replace(policy, reference=reference))


def tried(mutant: Mutant) -> dict[str, Any]:
    """One row of the matrix."""
    source = mutant.source()
    try:
        gate, said = refused_by(hurried(mutant.faulty_claim()), mutant.role, source)
    except EvidenceError as error:
        gate, said = "build", str(error)
    return {
        **mutant.identity(),
        "on_host": mutant.gate,
        "refused_by": gate,
        "said": said[:SAID_LIMIT],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", choices=mutated_operations())
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    here = device.identify()
    rows: list[dict[str, Any]] = []
    document = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": here.gpu_name,
        "driver": here.driver,
        "compute_sanitizer": find_compute_sanitizer().version,
        "commit": describe_revision([])["commit"],
        "rows": rows,
    }
    for mutant in mutants(arguments.operation):
        row = tried(mutant)
        print(f"{row['mutant']:<40}{row['refused_by']}", flush=True)
        rows.append(row)
        text = json.dumps(document, indent=1, sort_keys=True) + "\n"
        arguments.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
