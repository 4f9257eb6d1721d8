"""Gate 3, decided: the plan of a session, and what its raw samples say.

Unit of inference: the round inside a session, the session across sessions. No sample is
dropped. A sample is one graph of many launches: an average, from which no percentile of
single launches can be read.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy import special

from fivegates.backend import StateRow
from fivegates.claim import TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.record import Reason, Verdict

Comparison = Literal["main", "null", "floor"]
Outcome = Literal["faster", "slower", "equivalent", "inconclusive"]

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A ratio and its confidence interval."""

    estimate: float
    lower: float
    upper: float


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


def block_medians(
    samples: Sequence[Sample], comparison: Comparison
) -> dict[tuple[int, int, str], float]:
    """Median microseconds a launch, by (round, block, role)."""
    blocks: dict[tuple[int, int, str], list[float]] = defaultdict(list)
    for sample in samples:
        if sample.comparison == comparison:
            key = (sample.round, sample.block, sample.role)
            blocks[key].append(sample.elapsed_us / sample.launches)
    return {key: float(np.median(values)) for key, values in blocks.items()}


def round_ratios(
    samples: Sequence[Sample], comparison: Comparison, roles: tuple[str, str]
) -> np.ndarray:
    """Time of the first role over time of the second, a round: shape (rounds,).

    Blocks of a role are averaged in the log, so that exchanging the roles inverts the
    ratio exactly.
    """
    logs: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (number, _, role), median in block_medians(samples, comparison).items():
        logs[number][role].append(math.log(median))
    first, second = roles
    return np.exp(
        [np.mean(logs[n][first]) - np.mean(logs[n][second]) for n in sorted(logs)]
    )


def ratio_interval(ratios: np.ndarray, confidence: float) -> Interval:
    """Geometric mean of paired ratios with Student's t interval over rounds."""
    logs = np.log(ratios)
    centre = float(logs.mean())
    error = float(logs.std(ddof=1)) / math.sqrt(logs.size)
    half = float(special.stdtrit(logs.size - 1, (1 + confidence) / 2)) * error
    return Interval(
        estimate=math.exp(centre),
        lower=math.exp(centre - half),
        upper=math.exp(centre + half),
    )


def outcome(interval: Interval, margin: float) -> Outcome:
    """Where the whole interval lies against the margin of practical equivalence."""
    if interval.lower > 1 + margin:
        return "faster"
    if interval.upper < 1 / (1 + margin):
        return "slower"
    if interval.lower > 1 / (1 + margin) and interval.upper < 1 + margin:
        return "equivalent"
    return "inconclusive"


def derive_session(
    samples: Sequence[Sample], policy: TimingPolicy, margin: float
) -> dict[str, Any]:
    """Statistics of one session. Times in microseconds a launch."""
    ratios = round_ratios(samples, "main", MAIN_ROLES)
    speedup = ratio_interval(ratios, policy.confidence)
    null = ratio_interval(round_ratios(samples, "null", NULL_ROLES), policy.confidence)
    return {
        "baseline": _spread(samples, "main", "baseline"),
        "candidate": _spread(samples, "main", "candidate"),
        "baseline_floor": _spread(samples, "floor", "baseline"),
        "candidate_floor": _spread(samples, "floor", "candidate"),
        "round_speedups": ratios.tolist(),
        "speedup": asdict(speedup),
        "outcome": outcome(speedup, margin),
        "null": asdict(null),
        "null_outcome": outcome(null, margin),
        "smallest_effect_ratio": math.sqrt(null.upper / null.lower) - 1,
    }


def _spread(
    samples: Sequence[Sample], comparison: Comparison, role: str
) -> dict[str, float]:
    """Quantiles over samples, linear interpolation at q*(N - 1)."""
    values = [
        sample.elapsed_us / sample.launches
        for sample in samples
        if sample.comparison == comparison and sample.role == role
    ]
    p10, median, p90 = np.quantile(values, [0.1, 0.5, 0.9])
    return {"median_us": float(median), "p10_us": float(p10), "p90_us": float(p90)}


def derive(
    sessions: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What all sessions say together: ranges over them, never their mean."""
    speedups = [session["speedup"]["estimate"] for session in sessions]
    rounds = [ratio for session in sessions for ratio in session["round_speedups"]]
    outcomes = {session["outcome"] for session in sessions}
    return {
        "sessions": [dict(session) for session in sessions],
        "baseline_median_us": _middle(sessions, "baseline"),
        "candidate_median_us": _middle(sessions, "candidate"),
        "baseline_floor_us": _middle(sessions, "baseline_floor"),
        "candidate_floor_us": _middle(sessions, "candidate_floor"),
        "round_speedup_median": float(np.median(rounds)),
        "speedup_lower": min(s["speedup"]["lower"] for s in sessions),
        "speedup_upper": max(s["speedup"]["upper"] for s in sessions),
        "session_speedup_min": min(speedups),
        "session_speedup_max": max(speedups),
        "null_lower": min(s["null"]["lower"] for s in sessions),
        "null_upper": max(s["null"]["upper"] for s in sessions),
        "smallest_effect_ratio": max(s["smallest_effect_ratio"] for s in sessions),
        "outcome": outcomes.pop() if len(outcomes) == 1 else "inconclusive",
    }


def _middle(sessions: Sequence[Mapping[str, Any]], key: str) -> float:
    """Median over sessions of the session's median."""
    return float(np.median([session[key]["median_us"] for session in sessions]))


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


def judge_session(
    measured: Mapping[str, Any], derived: Mapping[str, Any] | None
) -> Verdict:
    """Whether one session's samples may be used at all."""
    if measured["exit_status"] is None:
        return _verdict("not-run", Reason.TIMEOUT, "the session did not end in time")
    if derived is None:
        return _verdict(
            "not-run",
            Reason.PROCESS_FAILED,
            f"exit status {measured['exit_status']}: {measured['last_words']}",
        )
    facts = measured["facts"]
    if wrong := {k: v for k, v in facts["failed_elements"].items() if v}:
        worst = ", ".join(f"{role} {count}" for role, count in sorted(wrong.items()))
        return _verdict(
            "fail",
            Reason.TIMED_OUTPUT_WRONG,
            f"elements outside tolerance after timing: {worst}",
        )
    if facts["expired_blocks"]:
        return _verdict(
            "inconclusive",
            Reason.HELD_QUEUE_EXPIRED,
            f"the hold gave up in {facts['expired_blocks']} blocks",
        )
    if bad := [r for r in derived["throttle_reasons"] if r in THROTTLING]:
        return _verdict(
            "inconclusive", Reason.THROTTLED, f"device slowed: {', '.join(bad)}"
        )
    if (derived["compute_processes"] or 0) > 1:
        return _verdict(
            "inconclusive",
            Reason.COMPETING_WORK,
            f"{derived['compute_processes']:.0f} compute processes on the device, "
            "expected 1",
        )
    return Verdict.passed(
        f"{facts['checked_slots']} slots checked after timing, none wrong"
    )


def judge(derived: Mapping[str, Any], margin: float) -> Verdict:
    """Whether the sessions together decide."""
    sessions = derived["sessions"]
    for number, session in enumerate(sessions, start=1):
        if session["null_outcome"] in ("faster", "slower"):
            return _verdict(
                "inconclusive",
                Reason.NULL_DIFFERS,
                f"session {number}: baseline against itself is "
                f"{session['null_outcome']}",
            )
    found = [session["outcome"] for session in sessions]
    if len(set(found)) > 1:
        return _verdict(
            "inconclusive",
            Reason.SESSIONS_DISAGREE,
            f"sessions say {', '.join(found)}; speedup "
            f"{derived['session_speedup_min']:.4g} to "
            f"{derived['session_speedup_max']:.4g}",
        )
    if derived["outcome"] == "inconclusive":
        return _verdict(
            "inconclusive",
            Reason.INTERVAL_TOO_WIDE,
            f"speedup [{derived['speedup_lower']:.4g}, {derived['speedup_upper']:.4g}] "
            f"reaches both sides of the margin {margin:g}",
        )
    return Verdict.passed(
        f"{derived['outcome']} in {len(found)} sessions, speedup "
        f"[{derived['speedup_lower']:.4g}, {derived['speedup_upper']:.4g}]"
    )


def _verdict(status: Any, reason: Reason, message: str) -> Verdict:
    return Verdict(status=status, reason=reason, message=message)
