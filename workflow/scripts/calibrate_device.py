"""Run null and planted experiments on this machine's device; write calibration.json.

Receipts that are assembled afterwards on the same device cite it.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from fivegates import nvml
from fivegates.backend import Device
from fivegates.calibration import (
    CALIBRATION_SCHEMA,
    EXPERIMENTS,
    Experiment,
    RoundRatio,
    costs_csv,
    derive,
    described,
    rounds_csv,
)
from fivegates.claim import Policy, TimingPolicy
from fivegates.errors import ArtifactError, ClaimError, ToolError
from fivegates.gate import ROOT, guarded, now
from fivegates.machine import identify
from fivegates.rounding import rounded
from fivegates.schema import check
from fivegates.state import lock_commands
from fivegates.store import Store, canonical, read_bytes

MARGIN = 0.01
SHOWN = [
    "name",
    "experiments",
    "seconds_median",
    "excluding_one",
    "right_side",
    "ratio",
    "half_width_median",
]
# Two of either label have a spread.
FEWEST = 4
SWAP_TOLERANCE = 0.0002


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--config", type=Path, default=Path("config/config.yaml"))
    parser.add_argument("--experiments", type=count, default=40, help="of each kind")
    names = [kind.name for kind in EXPERIMENTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--output", type=Path, required=True, help="calibration.json")
    return parser.parse_args(argv)


def count(text: str) -> int:
    if (number := int(text)) < FEWEST:
        raise argparse.ArgumentTypeError(f"{number}, expected at least {FEWEST}")
    return number


def read_policy(path: Path) -> TimingPolicy:
    """The policy of gate 3, by which experiments are made."""
    document = yaml.safe_load(read_bytes(path))
    check(document, "config", str(path), ClaimError)
    return Policy.from_dict(document["policy"]).timing


def require_device() -> Device:
    """The device to calibrate; ToolError where none answers."""
    device = identify("auto").device
    if device is None:
        raise ToolError(
            "calibration: no device answers, expected a driver, an NVIDIA GPU and the "
            "extra cuda12 or cuda13"
        )
    return device


def measured(
    kinds: Sequence[Experiment], experiments: int, policy: TimingPolicy
) -> tuple[list[RoundRatio], dict[tuple[str, int], float]]:
    """Ratios of all rounds, and seconds of every experiment."""
    from fivegates.held_queue import HeldQueue
    from fivegates.specimens import experiment, warm_session

    queue = HeldQueue(max(policy.samples, policy.single_samples))
    rounds: list[RoundRatio] = []
    costs: dict[tuple[str, int], float] = {}
    for kind in kinds:
        sessions = {
            swapped: warm_session(
                kind, swapped=swapped, policy=policy, queue=queue, root=ROOT
            )
            for swapped in {kind.is_swapped(number) for number in (0, 1)}
        }
        for number in range(experiments):
            start = time.monotonic()
            session = sessions[kind.is_swapped(number)]
            rounds += experiment(session, kind, number, policy)
            costs[kind.name, number] = round(time.monotonic() - start, 4)
        if not all(session.is_clean() for session in sessions.values()):
            raise ArtifactError(f"{kind.name}: outputs were wrong, expected none")
    return rounds, costs


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    policy, device, begin = read_policy(args.config), require_device(), now()
    kinds = [kind for kind in EXPERIMENTS if kind.name in args.only]
    rounds, costs = measured(kinds, args.experiments, policy)
    derived = derive(rounds, costs, kinds, confidence=policy.confidence, margin=MARGIN)
    require_labels_invert(derived)
    document = {
        "schema": CALIBRATION_SCHEMA,
        "gpu_uuid": device.gpu_uuid,
        "gpu_name": device.gpu_name,
        "driver": device.driver,
        "measured_at": begin,
        "finished_at": now(),
        "policy": asdict(policy),
        "margin": MARGIN,
        "experiments": described(kinds),
        "derived": rounded(derived),
    }
    publish(Store(args.results), args.output, document, rounds, costs)
    print(pd.DataFrame(document["derived"])[SHOWN].to_string(index=False))
    with nvml.device(device.gpu_uuid) as handles:
        commands = lock_commands(
            device.gpu_uuid, nvml.read_conditions(handles), "observed"
        )
    for purpose, lines in commands.items():
        print(f"to {purpose} this device's clocks: {'; '.join(lines) or 'unknown'}")
    return 0


def require_labels_invert(derived: Sequence[dict[str, Any]]) -> None:
    """ToolError where exchanged labels do not invert a ratio."""
    for found in derived:
        swap = found["label_swap"]
        if swap and not (swap[1] > 1 - SWAP_TOLERANCE and swap[0] < 1 + SWAP_TOLERANCE):
            raise ToolError(
                f"{found['name']}: a ratio times that with exchanged labels is {swap}, "
                "expected 1; the timing favours a label"
            )


def publish(
    store: Store,
    output: Path,
    document: dict[str, Any],
    rounds: Sequence[RoundRatio],
    costs: dict[tuple[str, int], float],
) -> None:
    """Write the record last, its raw files before it."""
    raw = {
        "rounds.csv": rounds_csv(rounds).encode(),
        "costs.csv": costs_csv(costs).encode(),
    }
    folder = output.with_suffix(".raw")
    artifacts = [store.publish(folder / name, data) for name, data in raw.items()]
    document["artifacts"] = [asdict(artifact) for artifact in artifacts]
    check(document, "calibration", str(output), ArtifactError)
    store.publish(output, canonical(document))


if __name__ == "__main__":
    sys.exit(guarded(main))
