"""Does gate 3 agree with itself over processes, and with CUPTI on what it times?

Needs the results of the claim triad-vec4 judged on this device:

    python benchmarks/timing_agreement.py --results results --output FILE.json
"""

import argparse
import json
import math
import multiprocessing
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import gate_sessions
import numpy as np
from timing_methods import Subject, kernels_us, measure, steady

PROCESSES = 16
FIRST_NUMBER = 50
CUPTI = "cupti"


def harness() -> Any:
    from fivegates.held_queue import harness_module

    return harness_module()


def rotated() -> list[Subject]:
    """Both arms through all sets of buffers, and an empty kernel of one warp."""
    from timing_peers import subjects

    return [*subjects(), empty()]


def same_buffer() -> list[Subject]:
    """Both arms on one set of buffers, and an empty kernel of one warp."""
    from timing_peers import subjects

    def fixed(subject: Subject) -> Subject:
        return Subject(
            name=subject.name, launch=lambda _, stream: subject.launch(0, stream)
        )

    return [*map(fixed, subjects()), empty()]


def empty() -> Subject:
    kernel = harness().get_function("nothing")
    return Subject(
        name="bare", launch=lambda _, stream: kernel((1,), (32,), (), stream=stream)
    )


def counted() -> list[Subject]:
    """Both kernels of each planted experiment."""
    import cupy

    from fivegates.calibration import EXPERIMENTS

    kernel = harness().get_function("counted")
    lines = cupy.zeros((2, 32), np.float32)

    def subject(name: str, work: tuple[int, int]) -> Subject:
        arguments = (lines[0], lines[1], *map(np.uint32, work), np.float32(0))
        return Subject(
            name=name,
            launch=lambda _, stream: kernel((1,), (32,), arguments, stream=stream),
        )

    return [
        subject(f"{kind.name}/{role}", work)
        for kind in EXPERIMENTS
        if kind.comparison == "main" and kind.work is not None
        for role, work in zip(("longer", "shorter"), kind.work, strict=True)
    ]


def agreement(folder: Path) -> dict[str, Any]:
    """The ratio in fresh processes: its spread, and what rounds say of it."""
    found = [gate_sessions.session(folder, FIRST_NUMBER + k) for k in range(PROCESSES)]
    logs = [math.log(one["speedup"]["estimate"]) for one in found]
    predicted = [
        one["components"]["ratio_sd"] ** 2 / len(one["round_speedups"]) for one in found
    ]
    return {
        "verdicts": sorted({one["verdict"]["status"] for one in found}),
        "ratios": [one["speedup"]["estimate"] for one in found],
        "intervals": [
            [one["speedup"]["lower"], one["speedup"]["upper"]] for one in found
        ],
        "ratio_sd": statistics.stdev(logs),
        "predicted_sd": math.sqrt(statistics.fmean(predicted)),
        "wall_s": [one["wall_s"] for one in found],
    }


def medians(folder: Path, regime: str, replays: int) -> dict[str, Any]:
    """Our medians in us, in this process; and CUPTI's of the same replays after that.

    A process of its own, please: CUPTI changes what it traces.
    """
    from fivegates.plan import draw, poisoned_samples
    from fivegates.rounds import Timings, compared, spread

    session = workload(folder, regime)
    chosen = ("main", "floor", "single")
    rounds = draw(regime, chosen, rounds=24, batches=4, singles=5, every={})
    session.run(rounds)
    timings = Timings(
        kind=session.kind,
        samples=tuple(session.samples),
        blocks=tuple(session.blocks),
        poisoned=poisoned_samples(rounds),
    )

    def median_us(comparison: str, role: str) -> float:
        return spread(timings, comparison, role)["median_us"]

    roles = gate_sessions.ROLES
    found: dict[str, Any] = {
        "graph_us": {role: median_us("main", role) for role in roles}
        | {"bare": median_us("floor", "bare")},
        "single_us": {role: median_us("single", role) for role in roles},
    }
    main = compared(timings, "main", gate_sessions.ROLES)
    found["speedup"] = math.exp(float(main.ratio.mean()))
    found["replayed_cupti_us"] = {
        role: steady(kernels_us(partial(session.replay, role, replays)))
        for role in (*gate_sessions.ROLES, "bare")
    }
    return found


def workload(folder: Path, regime: str, queue: Any = None) -> Any:
    """A warm session of the two arms in one cache regime."""
    from fivegates import operations
    from fivegates.claim import Claim, Kind, launch, rotation_slots
    from fivegates.device import identify
    from fivegates.held_queue import HeldQueue
    from fivegates.measure import Image, Session
    from fivegates.trial import timed_values

    claim = Claim.from_dict(json.loads((folder / "claim.json").read_text()))
    operation = operations.load(
        gate_sessions.ROOT, claim.operation, claim.workload.dtype
    )
    policy, rotates = claim.policy.timing, regime == "buffer-rotated"
    slots = rotation_slots(claim, operation, identify().l2_bytes) if rotates else 1
    arms = {
        role: Image(
            cubin=(folder / role / "build.raw" / "kernel.cubin").read_bytes(),
            symbol=claim.arms[role].entry,
            launch=launch(claim, operation, role, claim.workload.sizes),
        )
        for role in gate_sessions.ROLES
    }
    session = Session(
        arms=arms,
        values=timed_values(claim, operation, 7),
        slots=slots,
        tolerance=claim.tolerance,
        policy=policy,
        kind=Kind(boundary="device", cache_regime=regime),
        zero_s=time.monotonic(),
        queue=queue or HeldQueue(max(policy.samples, policy.single_samples)),
    )
    session.warm_up()
    return session


def costs(folder: Path) -> dict[str, float]:
    """Seconds of one workload, and of one more in the same process."""
    from fivegates.claim import Claim
    from fivegates.plan import plan

    claim = Claim.from_dict(json.loads((folder / "claim.json").read_text()))
    found, queue = {}, None
    for name in ("first", "second"):
        start = time.monotonic()
        session = workload(folder, claim.workload.cache_regime, queue)
        session.run(plan(claim, "0" * 64, 1))
        found[f"{name}_s"] = time.monotonic() - start
        queue = session.queue
    return found


def alone(function: Any, *arguments: Any) -> Any:
    """Call in a fresh process: a context, a stream and a tracer of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, *arguments).result()


def planted(us: dict[str, float]) -> dict[str, Any]:
    """What CUPTI says of each planted difference."""
    names = sorted({name.partition("/")[0] for name in us})
    return {
        name: {
            "longer_us": us[f"{name}/longer"],
            "shorter_us": us[f"{name}/shorter"],
            "ratio": us[f"{name}/longer"] / us[f"{name}/shorter"],
        }
        for name in names
    }


def boundary(folder: Path) -> dict[str, Any]:
    """Our medians beside CUPTI's durations, in replays and launched by the host."""
    found = {}
    for regime, factory in (
        ("buffer-rotated", "rotated"),
        ("same-buffer", "same_buffer"),
    ):
        cupti = measure(CUPTI, f"timing_agreement:{factory}")["us"]
        said = alone(medians, folder, regime, 20)
        names = ("triad_scalar", "triad_vec4", "bare")
        roles = (*gate_sessions.ROLES, "bare")
        host = {role: cupti[name] for role, name in zip(roles, names, strict=True)}
        found[regime] = {
            **said,
            "launched_cupti_us": host,
            "launched_cupti_speedup": host["baseline"] / host["candidate"],
            "replayed_cupti_speedup": said["replayed_cupti_us"]["baseline"]
            / said["replayed_cupti_us"]["candidate"],
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    folder = (arguments.results / "triad-vec4").resolve()
    first = measure(CUPTI, "timing_agreement:counted")
    document = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "gpu": first["gpu"],
        "planted": planted(first["us"]),
        "boundary": boundary(folder),
        "cost": alone(costs, folder),
        "agreement": agreement(folder),
    }
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    arguments.output.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
