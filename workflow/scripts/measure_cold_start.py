"""Measure one session of cold starts: each sample is a process of its own.

Reads claim.json, plan.json and two cubins; writes samples.csv, blocks.csv, warmup.csv
(empty: nothing is warmed) and facts.json. Holds no context itself.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fivegates import operations
from fivegates.arm import ROLES, Extent, Launch
from fivegates.claim import Claim, launch
from fivegates.gate import ROOT
from fivegates.held_queue import SOURCE
from fivegates.job import POISON_BYTE
from fivegates.launch import compile_source
from fivegates.measure import BARE
from fivegates.plan import (
    BLOCK_COLUMNS,
    PARTS,
    SAMPLE_COLUMNS,
    Block,
    Sample,
    Step,
    plan,
)
from fivegates.process import run
from fivegates.store import read_bytes, read_json, sha256
from fivegates.trial import timed_values
from fivegates.warmup import TRACE_COLUMNS
from measure_session import parse_args, require_device, seed_of, write_csv

START_SCRIPT = Path(__file__).with_name("start_cold.py")
START_TIMEOUT_S = 60


def prepare(
    claim: Claim, args: argparse.Namespace, architecture: str, seed: int
) -> int:
    """Write what the cold processes read: a job and a cubin a role, and the values."""
    operation = operations.load(ROOT, claim.operation, claim.workload.dtype)
    ((inputs, expected),) = timed_values(claim, operation, seed, sets=1)
    sizes = claim.workload.sizes
    poisoned = {
        name: np.full(operation.nbytes(name, sizes), POISON_BYTE, np.uint8)
        for name in expected
    }
    for name, array in {**inputs, **poisoned}.items():
        np.save(args.folder / f"{name}.npy", array.view(np.uint8))
    for name, right in expected.items():
        layout = operation.layout(name, sizes)
        np.savez(
            args.folder / f"{name}.npz",
            values=right.values,
            magnitude=right.magnitude,
            dtype=right.dtype,
            unordered=right.unordered,
            **asdict(layout),
        )
    empty = compile_source(
        SOURCE.read_text(),
        name="harness.cu",
        entry="nothing",
        options=("--std=c++17",),
        architecture=architecture,
    )
    extents: dict[str, tuple[Extent, Extent]] = {"bare": BARE}
    for role in ROLES:
        cubin, symbol = getattr(args, role)
        timed = launch(claim, operation, role, claim.workload.sizes)
        write_job(args.folder, role, Path(cubin).read_bytes(), symbol, timed, claim)
        extents[role] = (timed.grid, timed.block)
    for name, (grid, block) in extents.items():
        bare = Launch(grid=grid, block=block, dynamic_shared_bytes=0, arguments=())
        write_job(args.folder, f"{name}-empty", empty.cubin, empty.symbol, bare, claim)
    return sum(a.nbytes for a in (*inputs.values(), *poisoned.values()))


def write_job(
    folder: Path, role: str, cubin: bytes, symbol: str, timed: Launch, claim: Claim
) -> None:
    (folder / f"{role}.cubin").write_bytes(cubin)
    job = {
        "symbol": symbol,
        "launch": asdict(timed),
        "tolerance": asdict(claim.tolerance),
    }
    (folder / f"{role}.json").write_text(json.dumps(job))


def started(folder: Path, role: str) -> dict[str, Any]:
    """One cold start; its process is given no warm cache of ours."""
    command: list[str | Path] = [sys.executable, START_SCRIPT]
    command += ["--folder", folder, "--role", role]
    completed = run(command, timeout_s=START_TIMEOUT_S)
    if completed.exit_status != 0:
        sys.exit(f"cold start of {role}: {completed.last_words}")
    found: dict[str, Any] = json.loads(completed.stdout)
    return found


def block(
    step: Step, number: int, found: list[dict[str, Any]], zero_s: float
) -> Iterator[tuple[Block, list[Sample]]]:
    """The rows of one block: the whole, then each part of an arm."""
    role = step.blocks[number]
    chosen = ("main", *PARTS) if step.comparison == "main" else (step.comparison,)
    for name in chosen:
        parts = (name,) if name in PARTS else PARTS
        values = [sum(one[part] for part in parts) for one in found]
        place: dict[str, Any] = {
            "comparison": name,
            "round": step.round,
            "block": number,
            "role": role,
        }
        times = (found[0]["begin_s"] - zero_s, found[-1]["end_s"] - zero_s)
        yield (
            Block(
                **place,
                begin_s=round(times[0], 6),
                end_s=round(times[1], 6),
                sm_clock_mhz=None,
            ),
            [
                Sample(**place, sample=i, launches=1, elapsed_us=round(value, 3))
                for i, value in enumerate(values)
            ],
        )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    claim, planned = Claim.from_dict(read_json(args.claim)), read_json(args.plan)
    device = require_device(args.backend)
    seed = seed_of(args, planned)
    bytes_moved = prepare(claim, args, device.architecture, seed)
    samples: list[Sample] = []
    blocks: list[Block] = []
    uuids: set[str] = set()
    wrong = dict.fromkeys(("again", "baseline", "candidate"), 0)
    for item in plan(claim, planned["claim"], planned["session"]):
        for step in item.steps:
            for number, role in enumerate(step.blocks):
                arm = "baseline" if role == "again" else role
                name = f"{arm}-empty" if step.comparison == "floor" else arm
                found = [started(args.folder, name) for _ in range(step.samples)]
                uuids |= {one["gpu_uuid"] for one in found}
                if step.comparison != "floor":
                    wrong[role] += sum(one["wrong"] for one in found)
                for row, values in block(step, number, found, args.zero_s):
                    blocks.append(row)
                    samples += values
    if uuids != {device.gpu_uuid}:
        sys.exit(f"cold starts ran on {sorted(uuids)}, expected {device.gpu_uuid}")
    write_csv(args.folder / "samples.csv", samples, SAMPLE_COLUMNS)
    write_csv(args.folder / "blocks.csv", blocks, BLOCK_COLUMNS)
    write_csv(args.folder / "warmup.csv", [], TRACE_COLUMNS)
    checked = sum(1 for row in samples if row.comparison in ("main", "null"))
    facts = {
        "gpu_uuid": device.gpu_uuid,
        "plan_sha256": sha256(read_bytes(args.plan)),
        "values_seed": seed,
        "slots": 1,
        "working_set_bytes": bytes_moved,
        "swept_bytes": 0,
        "warmup_launches": 0,
        "launches_per_graph": 1,
        "expired_blocks": 0,
        "checked_slots": checked,
        "failed_elements": wrong,
    }
    (args.folder / "facts.json").write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
