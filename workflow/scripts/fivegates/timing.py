"""Gate 3, decided: what the raw samples of sessions say.

Unit of inference: the round inside a session, the session across sessions. No sample is
dropped.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from fivegates.claim import TimingPolicy
from fivegates.record import Reason, Verdict
from fivegates.session import MAIN_ROLES, NULL_ROLES, Comparison, Sample

Outcome = Literal["faster", "slower", "equivalent", "inconclusive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A ratio and its confidence interval."""

    estimate: float
    lower: float
    upper: float


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
    # A third of a second to import: most gates compute no interval.
    from scipy import special

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


def judge(derived: Mapping[str, Any], margin: float) -> Verdict:
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
