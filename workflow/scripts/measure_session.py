"""Measure one timing session: the process in which both arms run, and nothing else.

Reads claim.json and two cubins, writes samples.csv, state.csv and facts.json.
"""

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from fivegates import operations
from fivegates.arm import ROLES
from fivegates.claim import Claim, launch, rotation_slots, slot_bytes
from fivegates.contract import Case
from fivegates.device import StateSampler, current_l2_bytes, current_uuid
from fivegates.gate import ROOT
from fivegates.launch import Kernel
from fivegates.measure import LoadedArm, Session
from fivegates.store import read_json
from fivegates.timing import SAMPLE_COLUMNS, STATE_COLUMNS, plan

GENERATOR_SEED = 7
STATE_INTERVAL_S = 0.05


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claim", type=Path, required=True)
    parser.add_argument(
        "--baseline", nargs=2, required=True, metavar=("CUBIN", "SYMBOL")
    )
    parser.add_argument(
        "--candidate", nargs=2, required=True, metavar=("CUBIN", "SYMBOL")
    )
    parser.add_argument("--session", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    claim = Claim.from_dict(read_json(args.claim))
    operation = operations.load(ROOT, claim.operation)
    sizes, policy = claim.workload.sizes, claim.policy.timing
    slots = rotation_slots(claim, operation, current_l2_bytes())
    generator = operation.cases(sizes)[0].generator
    sets = []
    for index in range(slots + 1):
        case = Case(generator=generator, seed=GENERATOR_SEED + index, sizes=sizes)
        inputs = operation.inputs(case)
        sets.append((inputs, operation.oracle(inputs, sizes)))
    arms = {
        role: LoadedArm(
            kernel=Kernel(Path(cubin), symbol),
            launch=launch(claim, operation, role, sizes),
        )
        for role, (cubin, symbol) in zip(
            ROLES, (args.baseline, args.candidate), strict=True
        )
    }
    gpu_uuid = current_uuid()
    with StateSampler(gpu_uuid, STATE_INTERVAL_S) as sampler:
        session = Session(
            arms=arms, sets=sets, tolerance=claim.tolerance, policy=policy
        )
        outcome = session.run(plan(policy.rounds, args.session))
    write_csv(args.folder / "samples.csv", outcome.samples, SAMPLE_COLUMNS)
    write_csv(args.folder / "state.csv", sampler.rows, STATE_COLUMNS)
    facts = {
        "gpu_uuid": gpu_uuid,
        "slots": slots,
        "working_set_bytes": slots * slot_bytes(claim, operation),
        "launches_per_graph": outcome.launches_per_graph,
        "warmup_launches": outcome.warmup_launches,
        "expired_blocks": outcome.expired_blocks,
        "checked_slots": outcome.checked_slots,
        "failed_elements": outcome.failed_elements,
    }
    (args.folder / "facts.json").write_text(json.dumps(facts))
    return 0


def write_csv(path: Path, rows: list, columns: tuple[str, ...]) -> None:
    frame = pd.DataFrame(rows, columns=list(columns))
    frame.to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    sys.exit(main())
