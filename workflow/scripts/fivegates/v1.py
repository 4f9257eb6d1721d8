"""Gate 3 of receipts v1: its plan, its statistics, its words. Not changed any more.

New claims are frozen by version 2 (`plan.py`, `session.py`, `timing.py`). What was
measured before must verify for ever.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from fivegates.backend import Device
from fivegates.claim import Claim, TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.evidence import Evidence
from fivegates.inference import Interval, mean_of, outcome
from fivegates.plan import Comparison, Sample, Step, parse_samples
from fivegates.record import Reason, Verdict
from fivegates.state import THROTTLING

MAIN_ROLES = ("baseline", "candidate")
NULL_ROLES = ("baseline", "again")
STATE_COLUMNS = (
    "elapsed_s",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "temperature_c",
    "power_w",
    "pstate",
    "utilization_ratio",
    "compute_processes",
    "throttle_reasons",
)

# How each value of a receipt came about.
PROVENANCE: Mapping[str, Literal["declared", "measured", "derived"]] = {
    "schema": "declared",
    "name": "declared",
    "claim": "declared",
    "margin": "declared",
    "provenance": "declared",
    "backend": "measured",
    "created_at": "measured",
    "source": "measured",
    "source.entry": "declared",
    "source.file": "declared",
    "baseline_source": "measured",
    "baseline_source.entry": "declared",
    "baseline_source.file": "declared",
    "hardware": "measured",
    "hardware.clock_policy": "declared",
    "hardware.isolation": "derived",
    "platform": "measured",
    "workload": "declared",
    "workload.rotation_slots": "derived",
    "workload.threads_per_block": "derived",
    "correctness": "derived",
    "correctness.atol": "declared",
    "correctness.rtol": "declared",
    "correctness.reference": "declared",
    "correctness.sanitizer_exit_status": "measured",
    "correctness.sanitizer_version": "measured",
    "measurement": "declared",
    "measurement.launches_per_sample": "measured",
    "measurement.warmup.launches": "measured",
    "measurement.raw_samples": "measured",
    "measurement.raw_sample_sha256": "measured",
    "artifacts": "measured",
    "tools": "measured",
    "evidence": "measured",
    "harness": "measured",
    "result": "derived",
    "result.end_to_end_effect": "declared",
    "result.round_speedup_interval.method": "declared",
    "result.round_speedup_interval.confidence": "declared",
    "roofline": "derived",
    "roofline.useful_bytes": "declared",
    "roofline.bytes_source": "declared",
    "roofline.flops": "declared",
    "gates": "derived",
    "status": "derived",
    "verdict": "derived",
    "summary": "derived",
}


def plan(rounds: int, session: int) -> tuple[Step, ...]:
    """The rounds of one session in order: the arms, the null comparison, the floor."""
    draw = np.random.default_rng(session)
    steps: list[Step] = []

    def step(comparison: Comparison, number: int, loads: Any, blocks: Any) -> Step:
        return Step(
            comparison=comparison,
            round=number,
            loads=loads,
            blocks=blocks,
            poisoned=(),
            samples=0,
        )

    for number in range(rounds):
        for comparison, roles in (("main", MAIN_ROLES), ("null", NULL_ROLES)):
            a, b = roles if number % 2 == 0 else roles[::-1]
            loads = roles if draw.random() < 0.5 else roles[::-1]
            steps.append(step(comparison, number, loads, (a, b, b, a)))  # type: ignore[arg-type]
        steps.append(step("floor", number, MAIN_ROLES, MAIN_ROLES))
    return tuple(steps)


def samples(
    text: str, policy: TimingPolicy, session: int, launches: int, name: str
) -> tuple[Sample, ...]:
    """Raw samples of a session; ArtifactError unless they are those planned."""
    expected = [
        (step.comparison, step.round, block, role, sample, launches)
        for step in plan(policy.rounds, session)
        for block, role in enumerate(step.blocks)
        for sample in range(policy.samples)
    ]
    return parse_samples(text, expected, name)


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


def judge_session(
    measured: Mapping[str, Any], derived: Mapping[str, Any] | None
) -> Verdict:
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


def derive_session(
    samples: Sequence[Sample], policy: TimingPolicy, margin: float
) -> dict[str, Any]:
    """Statistics of one session. Times in microseconds a launch."""
    ratios = round_ratios(samples, "main", MAIN_ROLES)
    speedup = _interval(ratios, policy)
    null = _interval(round_ratios(samples, "null", NULL_ROLES), policy)
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


def _interval(ratios: np.ndarray, policy: TimingPolicy) -> Interval:
    return mean_of(np.log(ratios)).interval(policy.confidence)


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


def derive_timing(
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


def judge_timing(derived: Mapping[str, Any], margin: float) -> Verdict:
    """Whether the sessions together decide."""
    sessions = derived["sessions"]
    for number, session in enumerate(sessions, start=1):
        if session["null_outcome"] in ("faster", "slower"):
            return Verdict.inconclusive(
                Reason.NULL_DIFFERS,
                f"session {number}: baseline against itself is "
                f"{session['null_outcome']}",
            )
    found = [session["outcome"] for session in sessions]
    if len(set(found)) > 1:
        return Verdict.inconclusive(
            Reason.SESSIONS_DISAGREE,
            f"sessions say {', '.join(found)}; speedup "
            f"{derived['session_speedup_min']:.4g} to "
            f"{derived['session_speedup_max']:.4g}",
        )
    if derived["outcome"] == "inconclusive":
        return Verdict.inconclusive(
            Reason.INTERVAL_TOO_WIDE,
            f"speedup [{derived['speedup_lower']:.4g}, {derived['speedup_upper']:.4g}] "
            f"reaches both sides of the margin {margin:g}",
        )
    return Verdict.passed(
        f"{derived['outcome']} in {len(found)} sessions, speedup "
        f"[{derived['speedup_lower']:.4g}, {derived['speedup_upper']:.4g}]"
    )


def measurement(evidence: Evidence) -> dict[str, Any]:
    """How it was timed."""
    policy = evidence.claim.policy.timing
    raw = evidence.raw_samples()
    return {
        "timer": "CUDA events around graphs of launches queued behind a held stream",
        "warmup": {
            "launches": evidence.session_fact("warmup_launches"),
            "rule": f"at least {policy.warmup_launches} launches, twice through every "
            f"slot, and {policy.warmup_s:g} s",
        },
        "samples": policy.samples,
        "launches_per_sample": evidence.session_fact("launches_per_graph"),
        "rounds": policy.rounds,
        "sessions": policy.sessions,
        "order": "ABBA and BAAB in turn, graphs captured anew each round",
        "raw_samples": [item.name for item in raw],
        "raw_sample_sha256": [item.sha256 for item in raw],
        "quantiles": "linear interpolation at q*(N-1)",
        "profiler_attached": False,
    }


def result(evidence: Evidence) -> dict[str, Any] | None:
    """What the sessions say."""
    record = evidence.records["timing"]
    if record.result is None:
        return None
    timing = record.derived
    return {
        "outcome": timing["outcome"],
        "baseline_median_us": timing["baseline_median_us"],
        "candidate_median_us": timing["candidate_median_us"],
        "baseline_floor_us": timing["baseline_floor_us"],
        "candidate_floor_us": timing["candidate_floor_us"],
        "round_speedup_median": timing["round_speedup_median"],
        "round_speedup_interval": {
            "method": "Student t over the log ratios of rounds in each session; "
            "lowest lower and highest upper end over sessions",
            "confidence": evidence.claim.policy.timing.confidence,
            "lower": timing["speedup_lower"],
            "upper": timing["speedup_upper"],
        },
        "session_speedup_range": [
            timing["session_speedup_min"],
            timing["session_speedup_max"],
        ],
        "null_interval": [timing["null_lower"], timing["null_upper"]],
        "smallest_effect_ratio": timing["smallest_effect_ratio"],
        "end_to_end_effect": "out of scope: the boundary is device",
    }


def summary(evidence: Evidence) -> str:
    """What the summary says of timing that passed."""
    timing, policy = evidence.records["timing"].derived, evidence.claim.policy.timing
    return (
        f"{policy.sessions} sessions x {policy.rounds} rounds x 4 blocks x "
        f"{policy.samples} samples; {timing['baseline_median_us']:.3f} us -> "
        f"{timing['candidate_median_us']:.3f} us; speedup "
        f"{timing['round_speedup_median']:.4g} "
        f"[{timing['speedup_lower']:.4g}, {timing['speedup_upper']:.4g}]"
    )
