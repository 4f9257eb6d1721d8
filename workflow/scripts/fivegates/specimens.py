"""Kernels of known behaviour, to try the timing itself on: a triad, counted work."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from fivegates.arm import Argument, Launch
from fivegates.calibration import Experiment, RoundRatio, Work, plan_of
from fivegates.claim import (
    VALUE_SETS,
    CacheRegime,
    Kind,
    TimingPolicy,
    Tolerance,
)
from fivegates.contract import Right
from fivegates.held_queue import SOURCE, HeldQueue
from fivegates.launch import compile_source
from fivegates.measure import Image, Session
from fivegates.plan import ROLES_OF, poisoned_samples
from fivegates.prepared import CONTROL_THREADS
from fivegates.rounding import rounded
from fivegates.rounds import Timings, compared
from fivegates.trial import ValueSet

TRIAD = Path("kernels/triad/scalar.cu")
TRIAD_ELEMENTS, TRIAD_THREADS, ALPHA = 1_000_003, 256, np.float32(1.25)
TRIAD_SLOT_BYTES = 3 * 4 * TRIAD_ELEMENTS
TOLERANCE = Tolerance(atol=2e-6, rtol=2e-5)
OPTIONS = ("--std=c++17",)


def warm_session(
    kind: Experiment,
    *,
    swapped: bool,
    policy: TimingPolicy,
    queue: HeldQueue,
    root: Path,
) -> Session:
    """A session of the kernels of one kind of experiment, warmed up.

    `root` is the repository; `swapped` exchanges the arms.
    """
    architecture = f"sm_{cupy.cuda.Device().compute_capability}"
    regime: CacheRegime
    if kind.work is None:
        regime, subject = "buffer-rotated", _triad(architecture, root)
    else:
        work = kind.work[::-1] if swapped else kind.work
        regime, subject = "same-buffer", _counted(architecture, work)
    session = Session(
        **subject,
        policy=policy,
        kind=Kind(boundary="device", cache_regime=regime),
        batched=kind.unit == "graph",
        zero_s=time.monotonic(),
        queue=queue,
    )
    session.warm_up()
    return session


def experiment(
    session: Session, kind: Experiment, number: int, policy: TimingPolicy
) -> Iterator[RoundRatio]:
    """One comparison, as gate 3 makes it in one of its sessions."""
    rounds = plan_of(
        kind,
        number,
        batches=policy.samples if session.batched else policy.single_samples,
        singles=policy.single_samples,
    )
    session.run(rounds)
    timings = Timings(
        kind=session.kind,
        samples=tuple(session.samples),
        blocks=tuple(session.blocks),
        poisoned=poisoned_samples(rounds),
    )
    session.samples.clear()
    session.blocks.clear()
    found = compared(timings, kind.comparison, ROLES_OF[kind.comparison])
    for index, (ratio, first) in enumerate(
        zip(found.time_ratios, found.first, strict=True)
    ):
        yield RoundRatio(
            experiment=kind.name,
            number=number,
            swapped=kind.is_swapped(number),
            round=index,
            first=bool(first),
            ratio=rounded(float(ratio)),
        )


def _triad(architecture: str, root: Path) -> dict[str, Any]:
    built = compile_source(
        (root / TRIAD).read_text(),
        name=TRIAD.as_posix(),
        entry="triad_scalar",
        options=OPTIONS,
        architecture=architecture,
    )
    arguments = [Argument(kind="buffer", name=name, value=None) for name in "xzy"]
    arguments += [
        Argument(kind="scalar", name="uint64", value=TRIAD_ELEMENTS),
        Argument(kind="scalar", name="float32", value=float(ALPHA)),
    ]
    image = Image(
        cubin=built.cubin,
        symbol=built.symbol,
        launch=Launch(
            grid=(-(-TRIAD_ELEMENTS // TRIAD_THREADS), 1, 1),
            block=(TRIAD_THREADS, 1, 1),
            dynamic_shared_bytes=0,
            arguments=tuple(arguments),
        ),
    )
    draw = np.random.default_rng(1)
    values: list[ValueSet] = []
    for _set in range(VALUE_SETS):
        x, z = draw.standard_normal((2, TRIAD_ELEMENTS), dtype=np.float32)
        values.append(({"x": x, "z": z}, {"y": right(np.float64(ALPHA) * x + z)}))
    l2_bytes = int(cupy.cuda.Device().attributes["L2CacheSize"])
    return {
        "arms": {"baseline": image, "candidate": image},
        "values": values,
        "slots": 1 + -(-2 * l2_bytes // TRIAD_SLOT_BYTES),
        "tolerance": TOLERANCE,
    }


def _counted(architecture: str, work: tuple[Work, Work]) -> dict[str, Any]:
    built = compile_source(
        SOURCE.read_text(),
        name="harness.cu",
        entry="counted",
        options=OPTIONS,
        architecture=architecture,
    )

    def image(steps: int, extra: int) -> Image:
        arguments = (
            Argument(kind="buffer", name="x", value=None),
            Argument(kind="buffer", name="y", value=None),
            Argument(kind="scalar", name="uint32", value=steps),
            Argument(kind="scalar", name="uint32", value=extra),
            Argument(kind="scalar", name="float32", value=0.0),
        )
        launch = Launch(
            grid=(1, 1, 1),
            block=(CONTROL_THREADS, 1, 1),
            dynamic_shared_bytes=0,
            arguments=arguments,
        )
        return Image(cubin=built.cubin, symbol=built.symbol, launch=launch)

    draw = np.random.default_rng(1)
    lines = draw.standard_normal((VALUE_SETS, CONTROL_THREADS), dtype=np.float32)
    return {
        "arms": {"baseline": image(*work[0]), "candidate": image(*work[1])},
        "values": [({"x": x}, {"y": right(x.astype(np.float64))}) for x in lines],
        "slots": 1,
        "tolerance": TOLERANCE,
    }


def right(values: np.ndarray) -> Right:
    """What an output of a specimen must be."""
    return Right(values=values, magnitude=np.abs(values))
