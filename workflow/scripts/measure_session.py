"""Measure one timing session: the process in which both arms run, and nothing else.

Reads claim.json, plan.json and two cubins; writes samples.csv, blocks.csv, warmup.csv
and facts.json.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivegates import operations
from fivegates.arm import ROLES
from fivegates.backend import Backend, Device
from fivegates.claim import Claim, launch, rotation_slots
from fivegates.device import current_uuid
from fivegates.held_queue import HeldQueue
from fivegates.measure import Image, Session
from fivegates.plan import BLOCK_COLUMNS, SAMPLE_COLUMNS, plan
from fivegates.store import read_bytes, read_json, sha256
from fivegates.table import to_csv
from fivegates.trial import timed_values, values_seed
from fivegates.warmup import TRACE_COLUMNS


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claim", type=Path, required=True)
    parser.add_argument("--backend", type=Path, required=True)
    parser.add_argument("--plan", type=Path, required=True)
    for role in ROLES:
        parser.add_argument(
            f"--{role}", nargs=2, required=True, metavar=("CUBIN", "SYMBOL")
        )
    parser.add_argument("--zero-s", type=float, required=True, help="monotonic time")
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    claim = Claim.from_dict(read_json(args.claim))
    planned = read_json(args.plan)
    operation = operations.load(Path.cwd(), claim.operation, claim.workload.dtype)
    slots = rotation_slots(claim, operation, require_device(args.backend).l2_bytes)
    arms: dict[str, Image] = {
        role: Image(
            cubin=Path(cubin).read_bytes(),
            symbol=symbol,
            launch=launch(claim, operation, role, claim.workload.sizes),
        )
        for role in ROLES
        for cubin, symbol in [getattr(args, role)]
    }
    policy = claim.policy.timing
    seed = seed_of(args, planned)
    session = Session(
        arms=arms,
        values=timed_values(claim, operation, seed),
        slots=slots,
        tolerance=claim.tolerance,
        policy=policy,
        kind=claim.workload.kind,
        zero_s=args.zero_s,
        queue=HeldQueue(max(policy.samples, policy.single_samples)),
    )
    session.warm_up()
    session.run(plan(claim, planned["claim"], planned["session"]))
    write_csv(args.folder / "samples.csv", session.samples, SAMPLE_COLUMNS)
    write_csv(args.folder / "blocks.csv", session.blocks, BLOCK_COLUMNS)
    write_csv(args.folder / "warmup.csv", session.trace, TRACE_COLUMNS)
    facts = {
        "gpu_uuid": current_uuid(),
        "plan_sha256": sha256(read_bytes(args.plan)),
        "values_seed": seed,
        **session.facts(),
    }
    (args.folder / "facts.json").write_text(json.dumps(facts))
    return 0


def seed_of(args: argparse.Namespace, planned: Mapping[str, Any]) -> int:
    """Seed of the timed values, from the claim and the binaries that are timed."""
    binaries: dict[str, str] = {
        role: sha256(read_bytes(Path(getattr(args, role)[0]))) for role in ROLES
    }
    return values_seed(planned["claim"], binaries, planned["session"])


def require_device(path: Path) -> Device:
    """The device of backend.json."""
    device = Backend.from_dict(read_json(path)).device
    if device is None:
        raise RuntimeError(f"{path}: no device, expected the gate to be barred")
    return device


def write_csv(path: Path, rows: Sequence[object], columns: tuple[str, ...]) -> None:
    cells = ([getattr(row, column) for column in columns] for row in rows)
    path.write_text(to_csv(columns, cells))


if __name__ == "__main__":
    sys.exit(main())
