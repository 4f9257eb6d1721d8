"""Correct arms of the catalogue under many seeds of their cases, on the host.

Gate 1 must refuse none of them. As a command it prints a line an arm, with what
refused it:

    python tests/seeds.py [--output FILE.json] [--seeds 20] [CLAIM ...]
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from fivegates.arm import ROLES  # noqa: E402
from fivegates.operations import contract_path  # noqa: E402
from fivegates.store import sha256  # noqa: E402
from mutation import SURVIVED, frozen, refused_by, require_known  # noqa: E402

# Its candidate is a fault: tests/kernels/recurrent_one_barrier.cu.
RACY = "recurrent-one-barrier"


def claims() -> list[str]:
    """Claims of one workload whose arms are both correct."""
    return [
        path.stem
        for path in sorted((ROOT / "config/claims").glob("*.yaml"))
        if path.stem != RACY and "workload" in yaml.safe_load(path.read_text())
    ]


def identity(claim: str, role: str) -> dict[str, Any]:
    """What a row says of the arm, and of the contract that judged it."""
    arm = ROOT / frozen(claim).arms[role].source
    contract = contract_path(ROOT, frozen(claim).operation)
    return {
        "claim": claim,
        "role": role,
        "source_sha256": sha256(arm.read_bytes()),
        "contract_sha256": sha256(contract.read_bytes()),
    }


def tried(claim: str, seeds: int) -> list[dict[str, Any]]:
    """Its arms with the cases' own seeds, then each of them one larger, and so on."""
    refused: dict[str, dict[int, str]] = {role: {} for role in ROLES}
    for shift in range(seeds):
        for role, found in refused.items():
            source = (ROOT / frozen(claim).arms[role].source).read_text()
            gate, said = refused_by(
                frozen(claim), role, source, shift=shift, gates=False
            )
            if gate != SURVIVED:
                found[shift] = said
    return [
        {**identity(claim, role), "seeds": seeds, "refused": found}
        for role, found in refused.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", nargs="*", default=claims())
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    require_known(parser, arguments.claims, claims())
    rows = []
    with ProcessPoolExecutor() as pool:
        seeds = repeat(arguments.seeds)
        for row in chain.from_iterable(pool.map(tried, arguments.claims, seeds)):
            rows.append(row)
            refusals = row["refused"].values()
            print(f"{row['claim']:<28} {row['role']:<10}", *refusals, flush=True)
    refused = sum(len(row["refused"]) for row in rows)
    print(f"{arguments.seeds * len(rows)} runs, {refused} refused")
    if arguments.output:
        text = json.dumps(rows, indent=1, sort_keys=True) + "\n"
        arguments.output.write_text(text)
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
