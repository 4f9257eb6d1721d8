"""One timing session: its plan, its raw samples, and whether they may be used.

A sample is one graph of many launches: an average, from which no percentile of single
launches can be read.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fivegates.backend import Device, StateRow
from fivegates.claim import Claim
from fivegates.errors import ArtifactError
from fivegates.record import Reason, Verdict

Comparison = Literal["main", "null", "floor"]

MAIN_ROLES = ("baseline", "candidate")
NULL_ROLES = ("baseline", "again")
SAMPLE_COLUMNS = (
    "comparison",
    "round",
    "block",
    "role",
    "sample",
    "launches",
    "elapsed_us",
)
STATE_COLUMNS = tuple(StateRow.__dataclass_fields__)
# Power capping is how a GPU at its limit runs every kernel; these are faults.
THROTTLING = (
    "hw-slowdown",
    "sw-thermal-slowdown",
    "hw-thermal-slowdown",
    "hw-power-brake",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundPlan:
    """One round of one comparison: order of captures, and roles of the blocks."""

    comparison: Comparison
    round: int
    captures: tuple[str, ...]
    blocks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One measured interval: `launches` launches in `elapsed_us` microseconds."""

    comparison: Comparison
    round: int
    block: int
    role: str
    sample: int
    launches: int
    elapsed_us: float


def plan(rounds: int, session: int) -> tuple[RoundPlan, ...]:
    """The rounds of one session in order: the arms, the null comparison, the floor.

    Rounds alternate ABBA and BAAB. Graphs are captured anew in each round, in an order
    drawn from the session's number: whatever is drawn at random when a graph is made is
    then drawn once a round.
    """
    draw = np.random.default_rng(session)
    steps: list[RoundPlan] = []
    for number in range(rounds):
        for comparison, roles in (("main", MAIN_ROLES), ("null", NULL_ROLES)):
            a, b = roles if number % 2 == 0 else roles[::-1]
            steps.append(
                RoundPlan(
                    comparison=comparison,  # type: ignore[arg-type]
                    round=number,
                    captures=roles if draw.random() < 0.5 else roles[::-1],
                    blocks=(a, b, b, a),
                )
            )
        steps.append(
            RoundPlan(
                comparison="floor", round=number, captures=MAIN_ROLES, blocks=MAIN_ROLES
            )
        )
    return tuple(steps)


def parse_samples(
    text: str, steps: Sequence[RoundPlan], samples: int, launches: int, name: str
) -> tuple[Sample, ...]:
    """Read raw samples; ArtifactError unless every row is there in planned order."""
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if tuple(header) != SAMPLE_COLUMNS:
        raise ArtifactError(f"{name}: columns are {header}, expected {SAMPLE_COLUMNS}")
    expected = [
        (step.comparison, step.round, block, role, sample, launches)
        for step in steps
        for block, role in enumerate(step.blocks)
        for sample in range(samples)
    ]
    rows = list(reader)
    if len(rows) != len(expected):
        raise ArtifactError(f"{name}: {len(rows)} samples, expected {len(expected)}")
    return tuple(
        _sample(row, slot, f"{name}: row {number}")
        for number, (row, slot) in enumerate(zip(rows, expected, strict=True), start=2)
    )


def _sample(row: Sequence[str], slot: tuple[Any, ...], where: str) -> Sample:
    if list(row[:-1]) != [str(value) for value in slot]:
        raise ArtifactError(f"{where}: {row[:-1]}, expected {list(slot)}")
    try:
        elapsed = float(row[-1])
    except ValueError:
        elapsed = math.nan
    if not (math.isfinite(elapsed) and elapsed > 0):
        raise ArtifactError(
            f"{where}: elapsed_us is {row[-1]!r}, expected a positive finite number"
        )
    comparison, number, block, role, sample, launches = slot
    return Sample(
        comparison=comparison,
        round=number,
        block=block,
        role=role,
        sample=sample,
        launches=launches,
        elapsed_us=elapsed,
    )


def require_plan_kept(
    name: str, facts: Mapping[str, Any], claim: Claim, device: Device
) -> None:
    """ArtifactError where a session says of itself that it did less than the plan."""
    policy, slots = claim.policy.timing, facts["slots"]
    # Two comparisons of four blocks a round, each followed by a check of every slot.
    checks = 8 * policy.rounds * slots
    rotated = claim.workload.cache_regime == "buffer-rotated"
    least = 2 * device.l2_bytes + 1
    arms = ["again", "baseline", "candidate"]
    for kept, field, expected in (
        (sorted(facts["failed_elements"]) == arms, "failed_elements", arms),
        (facts["checked_slots"] == checks, "checked_slots", checks),
        (
            facts["warmup_launches"] >= max(policy.warmup_launches, 2 * slots),
            "warmup_launches",
            f"at least {max(policy.warmup_launches, 2 * slots)}",
        ),
        (facts["launches_per_graph"] % slots == 0, "launches_per_graph", f"x {slots}"),
        (slots == 1 or rotated, "slots", 1),
        (
            not rotated or facts["working_set_bytes"] >= least,
            "working_set_bytes",
            f"at least {least}",
        ),
    ):
        if not kept:
            raise ArtifactError(
                f"{name}: {field} is {facts[field]}, expected {expected}"
            )


def derive_state(text: str, name: str) -> dict[str, Any]:
    """What the device's state was over one session; None where it was not reported."""
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or tuple(rows[0]) != STATE_COLUMNS:
        raise ArtifactError(f"{name}: no rows with columns {STATE_COLUMNS}")

    def values(column: str) -> list[float]:
        return [float(row[column]) for row in rows if row[column]]

    reasons = {r for row in rows for r in row["throttle_reasons"].split("+") if r}
    return {
        "readings": len(rows),
        "sm_clock_min_mhz": min(values("sm_clock_mhz"), default=None),
        "sm_clock_max_mhz": max(values("sm_clock_mhz"), default=None),
        "temperature_max_c": max(values("temperature_c"), default=None),
        "power_max_w": max(values("power_w"), default=None),
        "compute_processes": max(values("compute_processes"), default=None),
        "throttle_reasons": sorted(reasons),
    }


def judge(measured: Mapping[str, Any], derived: Mapping[str, Any] | None) -> Verdict:
    """Whether one session's samples may be used at all."""
    if measured["exit_status"] is None:
        return Verdict.not_run(Reason.TIMEOUT, "the session did not end in time")
    if derived is None:
        return Verdict.not_run(
            Reason.PROCESS_FAILED,
            f"exit status {measured['exit_status']}: {measured['last_words']}",
        )
    facts = measured["facts"]
    if wrong := {k: v for k, v in facts["failed_elements"].items() if v}:
        worst = ", ".join(f"{role} {count}" for role, count in sorted(wrong.items()))
        return Verdict.fail(
            Reason.TIMED_OUTPUT_WRONG,
            f"elements outside tolerance after timing: {worst}",
        )
    if facts["expired_blocks"]:
        return Verdict.inconclusive(
            Reason.HELD_QUEUE_EXPIRED,
            f"the hold gave up in {facts['expired_blocks']} blocks",
        )
    if bad := [r for r in derived["throttle_reasons"] if r in THROTTLING]:
        return Verdict.inconclusive(
            Reason.THROTTLED, f"device slowed: {', '.join(bad)}"
        )
    if (derived["compute_processes"] or 0) > 1:
        return Verdict.inconclusive(
            Reason.COMPETING_WORK,
            f"{derived['compute_processes']:.0f} compute processes on the device, "
            "expected 1",
        )
    return Verdict.passed(
        f"{facts['checked_slots']} slots checked after timing, none wrong"
    )
