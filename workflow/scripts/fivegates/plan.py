"""What a session will do, written before its first launch, and its raw files.

Nothing here depends on what is measured: rounds, order, places and the sample before
which outputs are poisoned are drawn from the claim's digest and the session's number.
All rounds run; there is no early stop. The launches of a graph follow by rule from the
warm-up's trace (`warmup.py`).
"""

import csv
import io
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from fivegates.claim import Boundary, Claim, Kind
from fivegates.errors import ArtifactError

PLAN_SCHEMA = "fivegates:session_plan/v1"

Comparison = Literal[
    "main", "null", "self", "floor", "single", "repeat", "control", "context", "load",
    "first-launch",
]  # fmt: skip

ROLES_OF: Mapping[str, tuple[str, ...]] = {
    "main": ("baseline", "candidate"),
    # Two loads of one binary, and one load.
    "null": ("baseline", "again"),
    "self": ("baseline", "itself"),
    # Empty kernels with each arm's grid, and of a single warp.
    "floor": ("baseline", "candidate", "bare"),
    # Single launches: their distribution.
    "single": ("baseline", "candidate"),
    # The same values at the same pointers again, and fresh ones.
    "repeat": (
        "baseline-same",
        "baseline-fresh",
        "candidate-same",
        "candidate-fresh",
    ),
    # Counted dependent work: none, so much, twice as much.
    "control": ("none", "once", "twice"),
}
PAIRED = ("main", "null", "self")
CONTROL_LAUNCHES = 12
COLD_ROUNDS = 8
PARTS = ("context", "load", "first-launch")
SAMPLE_COLUMNS = (
    "comparison",
    "round",
    "block",
    "role",
    "sample",
    "launches",
    "elapsed_us",
)
BLOCK_COLUMNS = (
    "comparison",
    "round",
    "block",
    "role",
    "begin_s",
    "end_s",
    "sm_clock_mhz",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One comparison in one round.

    `loads` is the order in which its roles are made: module, then graph. `poisoned` is
    the sample of each block before which every output is filled with poison.
    """

    comparison: Comparison
    round: int
    loads: tuple[str, ...]
    blocks: tuple[str, ...]
    poisoned: tuple[int, ...]
    samples: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One round: where buffers lie is drawn from `placement`; steps in drawn order."""

    round: int
    placement: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One measured interval: `launches` launches in `elapsed_us` microseconds."""

    comparison: str
    round: int
    block: int
    role: str
    sample: int
    launches: int
    elapsed_us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """When one block ran, in seconds of the session, and at which mean SM clock."""

    comparison: str
    round: int
    block: int
    role: str
    begin_s: float
    end_s: float
    sm_clock_mhz: float | None


def comparisons(boundary: Boundary) -> tuple[Comparison, ...]:
    """What is compared in each round; only a device boundary hides single launches."""
    if boundary == "cold-start":
        return ("main", "null", "floor")
    own: tuple[Comparison, ...] = ("main", "null", "floor", "repeat", "control")
    return (*own, "single") if boundary == "device" else own


def is_batched(kind: Kind) -> bool:
    """Whether a sample is a graph of many launches.

    Only so do launch and drain of a device's short kernels stay out of the ratio; what
    sweeps the cache before each launch must time single ones.
    """
    return kind.boundary == "device" and kind.cache_regime != "swept"


def launches_of(comparison: str, batch: int) -> int:
    """Launches of one sample, where a sample of the arms is a graph of `batch`."""
    if comparison == "control":
        return CONTROL_LAUNCHES
    return 1 if comparison in ("single", "repeat") else batch


def rounds_of(claim: Claim) -> int:
    """Rounds of a session: the policy's, but few where each sample is a process."""
    rounds = claim.policy.timing.rounds
    cold = claim.workload.boundary == "cold-start"
    return min(rounds, COLD_ROUNDS) if cold else rounds


def samples_of(claim: Claim) -> int:
    """Samples in each block of the arms."""
    if claim.workload.boundary == "cold-start":
        return 1
    policy = claim.policy.timing
    return policy.samples if is_batched(claim.workload.kind) else policy.single_samples


def plan(claim: Claim, claim_sha256: str, session: int) -> tuple[Round, ...]:
    """The rounds of one session."""
    policy = claim.policy.timing
    return draw(
        f"{claim_sha256}/{session}",
        comparisons(claim.workload.boundary),
        rounds=rounds_of(claim),
        batches=samples_of(claim),
        singles=policy.single_samples,
        every=policy.every,
    )


def draw(
    seed: str,
    chosen: Sequence[Comparison],
    *,
    rounds: int,
    batches: int,
    singles: int,
    every: Mapping[str, int],
) -> tuple[Round, ...]:
    """Rounds of these comparisons; half of the paired ones ABBA, half BAAB, as drawn.

    Strict turns would fall into step with what the hardware repeats every few rounds.
    Only `random()` of the generator is used: Python promises its sequence for ever.
    """
    source = random.Random(seed)  # noqa: S311 - a plan, no secret
    made = {name: range(0, rounds, every.get(name, 1)) for name in chosen}
    swapped = {
        name: _half_swapped(source, made[name]) for name in chosen if name in PAIRED
    }

    def step(comparison: Comparison, number: int) -> Step:
        roles = ROLES_OF[comparison]
        samples = singles if comparison in ("single", "repeat") else batches
        if comparison in PAIRED:
            a, b = roles[::-1] if swapped[comparison][number] else roles
            blocks: tuple[str, ...] = (a, b, b, a)
        else:
            blocks = _shuffled(source, roles)
        return Step(
            comparison=comparison,
            round=number,
            loads=_shuffled(source, roles),
            blocks=blocks,
            poisoned=tuple(math.floor(samples * source.random()) for _ in blocks),
            samples=samples,
        )

    return tuple(
        Round(
            round=number,
            placement=math.floor(2**53 * source.random()),
            steps=tuple(
                step(name, number)
                for name in _shuffled(source, chosen)
                if number in made[name]
            ),
        )
        for number in range(rounds)
    )


def _shuffled(source: random.Random, items: Sequence[Any]) -> tuple[Any, ...]:
    keys = [source.random() for _ in items]
    return tuple(item for _, item in sorted(zip(keys, items, strict=True)))


def _half_swapped(source: random.Random, numbers: range) -> dict[int, int]:
    """1 for the rounds, half of them, that the second role opens."""
    halves = [place % 2 for place in range(len(numbers))]
    return dict(zip(numbers, _shuffled(source, halves), strict=True))


def planned_checks(rounds: Sequence[Round], slots: int) -> int:
    """Outputs checked: every slot behind a block, or each launch on given values."""
    return sum(
        step.samples + 1 if step.comparison == "repeat" else slots
        for item in rounds
        for step in item.steps
        if step.comparison in (*PAIRED, "repeat")
        for _ in step.blocks
    )


def document(claim: Claim, claim_sha256: str, session: int) -> dict[str, Any]:
    """The plan as it is written and hashed before the session's process starts."""
    policy = claim.policy.timing
    return {
        "schema": PLAN_SCHEMA,
        "claim": claim_sha256,
        "session": session,
        "boundary": claim.workload.boundary,
        "cache_regime": claim.workload.cache_regime,
        "policy": asdict(policy),
        "stop": "after the last round",
        "inference": {
            "unit": "round",
            "ratio": "difference of log midmeans of blocks, averaged over a role",
            "interval": "Student t, least squares on the order of the round",
            "confidence": policy.confidence,
        },
        "rounds": [asdict(item) for item in plan(claim, claim_sha256, session)],
    }


def poisoned_samples(rounds: Sequence[Round]) -> dict[tuple[str, int, int], int]:
    """The sample behind the poison, by (comparison, round, block) of paired ones."""
    return {
        (step.comparison, step.round, block): sample
        for item in rounds
        for step in item.steps
        if step.comparison in PAIRED
        for block, sample in enumerate(step.poisoned)
    }


def expected_blocks(
    rounds: Sequence[Round], also: Sequence[str] = ()
) -> Iterator[tuple[str, int, int, str, int]]:
    """(comparison, round, block, role, samples) of every block in acquisition order.

    `also` are the parts of a cold start that are written behind each of its blocks.
    """
    for item in rounds:
        for step in item.steps:
            for block, role in enumerate(step.blocks):
                name = step.comparison
                yield name, step.round, block, role, step.samples
                for part in also if name == "main" else ():
                    yield part, step.round, block, role, step.samples


def parse_samples(
    text: str, expected: Sequence[tuple[Any, ...]], name: str
) -> tuple[Sample, ...]:
    """Read raw samples; ArtifactError unless every row is there in planned order.

    `expected` holds the first six columns of each row.
    """
    rows = _rows(text, SAMPLE_COLUMNS, len(expected), "samples", name)
    return tuple(
        Sample(
            **dict(zip(SAMPLE_COLUMNS, slot, strict=False)),
            elapsed_us=_number(row, slot, -1, f"{name}: row {number}", "elapsed_us"),
        )
        for number, (row, slot) in enumerate(zip(rows, expected, strict=True), start=2)
    )


def parse_blocks(
    text: str, expected: Sequence[tuple[Any, ...]], name: str
) -> tuple[Block, ...]:
    """Read blocks; ArtifactError unless they are the planned ones, one after another.

    `expected` holds the first four columns of each row.
    """
    rows = _rows(text, BLOCK_COLUMNS, len(expected), "blocks", name)
    found, last = [], 0.0
    for number, (row, slot) in enumerate(zip(rows, expected, strict=True), start=2):
        where = f"{name}: row {number}"
        begin = _number(row, slot, 4, where, "begin_s")
        end = _number(row, slot, 5, where, "end_s")
        # The parts of a cold start lie inside its block.
        if not (slot[0] in PARTS or last <= begin) or begin > end:
            raise ArtifactError(
                f"{where}: from {begin} to {end} s, expected after {last} s"
            )
        clock = _number(row, slot, 6, where, "sm_clock_mhz") if row[6] else None
        found.append(
            Block(
                **dict(zip(BLOCK_COLUMNS, slot, strict=False)),
                begin_s=begin,
                end_s=end,
                sm_clock_mhz=clock,
            )
        )
        last = last if slot[0] in PARTS else end
    return tuple(found)


def _rows(
    text: str, columns: tuple[str, ...], count: int, what: str, name: str
) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if tuple(header) != columns:
        raise ArtifactError(f"{name}: columns are {header}, expected {columns}")
    rows = list(reader)
    if len(rows) != count:
        raise ArtifactError(f"{name}: {len(rows)} {what}, expected {count}")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns):
            raise ArtifactError(
                f"{name}: row {number}: {len(row)} fields, expected {len(columns)}"
            )
    return rows


def _number(
    row: Sequence[str], slot: Sequence[Any], index: int, where: str, column: str
) -> float:
    """A positive finite number of a row whose first columns are those of the plan."""
    if row[: len(slot)] != [str(value) for value in slot]:
        raise ArtifactError(f"{where}: {row[: len(slot)]}, expected {list(slot)}")
    try:
        value = float(row[index])
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ArtifactError(
            f"{where}: {column} is {row[index]!r}, expected a positive finite number"
        )
    return value
