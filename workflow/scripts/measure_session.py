"""Measure one timing session: the process in which both arms run, and nothing else.

Reads claim.json and two cubins, writes samples.csv, state.csv and facts.json.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fivegates import operations
from fivegates.arm import ROLES
from fivegates.claim import Claim, launch, rotation_slots, slot_bytes
from fivegates.device import StateSampler, current_l2_bytes, current_uuid
from fivegates.gate import ROOT
from fivegates.launch import Kernel
from fivegates.measure import LoadedArm, Session
from fivegates.session import SAMPLE_COLUMNS, STATE_COLUMNS, plan
from fivegates.store import read_json
from fivegates.trial import timed_values

STATE_INTERVAL_S = 0.05


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claim", type=Path, required=True)
    for role in ROLES:
        parser.add_argument(
            f"--{role}", nargs=2, required=True, metavar=("CUBIN", "SYMBOL")
        )
    parser.add_argument("--session", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    claim = Claim.from_dict(read_json(args.claim))
    operation = operations.load(ROOT, claim.operation)
    slots = rotation_slots(claim, operation, current_l2_bytes())
    values = timed_values(claim, operation, slots)
    arms: dict[str, LoadedArm] = {
        role: LoadedArm(
            kernel=Kernel(Path(cubin), symbol),
            launch=launch(claim, operation, role, claim.workload.sizes),
        )
        for role in ROLES
        for cubin, symbol in [getattr(args, role)]
    }
    policy = claim.policy.timing
    with StateSampler(current_uuid(), STATE_INTERVAL_S) as sampler:
        session = Session(
            arms=arms, values=values, tolerance=claim.tolerance, policy=policy
        )
        outcome = session.run(plan(policy.rounds, args.session))
    write_csv(args.folder / "samples.csv", outcome.samples, SAMPLE_COLUMNS)
    write_csv(args.folder / "state.csv", sampler.rows, STATE_COLUMNS)
    facts = {
        "gpu_uuid": current_uuid(),
        "slots": slots,
        "working_set_bytes": slots * slot_bytes(claim, operation),
        **outcome.facts,
    }
    (args.folder / "facts.json").write_text(json.dumps(facts))
    return 0


def write_csv(path: Path, rows: Sequence[object], columns: tuple[str, ...]) -> None:
    frame = pd.DataFrame(list(rows), columns=list(columns))
    frame.to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    sys.exit(main())
