"""Gate 3, decided: what all sessions of a claim say together.

Sessions are the outer unit. Those that disagree are the finding: no mean hides them.
Sessions added after the plan can confirm its outcome or unmake it, never make one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from fivegates.errors import ArtifactError
from fivegates.inference import Interval, mean_of, outcome
from fivegates.record import Reason, Verdict

# From here on sessions have an interval of their own.
SESSIONS_FOR_INTERVAL = 3
METHODS = {
    "sessions": "Student t over the log speedups of sessions, taken for normal: three "
    "or four cannot show otherwise",
    "rounds": "Student t over the log ratios of rounds in each session; lowest lower "
    "and highest upper end over sessions",
}


def derive(
    sessions: Sequence[Mapping[str, Any]],
    *,
    planned: int,
    margin: float,
    confidence: float,
) -> dict[str, Any]:
    """What sessions say: an interval, their range, and where variance comes from.

    `sessions` are derived by `session.derive`, the `planned` first.
    """
    kinds = sorted({session["kind"] for session in sessions})
    if len(kinds) > 1:
        raise ArtifactError(
            f"a ratio of {' to '.join(kinds)}, expected one kind in all sessions"
        )
    speedups = [session["speedup"]["estimate"] for session in sessions]
    interval, unit = combined(sessions, confidence)
    said = {_said(sessions[:planned], margin, confidence)}
    said.add(_said(sessions, margin, confidence))
    return {
        "kind": kinds[0],
        "sessions": len(sessions),
        "unit": unit,
        "method": METHODS[unit],
        "speedup": asdict(interval),
        "session_speedups": speedups,
        "session_outcomes": [session["outcome"] for session in sessions],
        "baseline_median_us": _middle(sessions, "baseline"),
        "candidate_median_us": _middle(sessions, "candidate"),
        "baseline_floor_us": _middle(sessions, "baseline_floor"),
        "candidate_floor_us": _middle(sessions, "candidate_floor"),
        "null_lower": min(s["null"]["lower"] for s in sessions),
        "null_upper": max(s["null"]["upper"] for s in sessions),
        "smallest_effect_ratio": _smallest_effect(sessions, confidence),
        "sm_clock_max_mhz": max(
            (s["state"]["sm_clock_max_mhz"] or 0.0 for s in sessions), default=0.0
        )
        or None,
        "components": components(sessions),
        "outcome": said.pop() if len(said) == 1 else "inconclusive",
    }


def combined(
    sessions: Sequence[Mapping[str, Any]], confidence: float
) -> tuple[Interval, str]:
    """The interval of all sessions, and its unit of resampling."""
    logs = _log_speedups(sessions)
    if len(sessions) >= SESSIONS_FOR_INTERVAL:
        return mean_of(logs).interval(confidence), "sessions"
    return Interval(
        estimate=math.exp(float(np.mean(logs))),
        lower=min(session["speedup"]["lower"] for session in sessions),
        upper=max(session["speedup"]["upper"] for session in sessions),
    ), "rounds"


def _log_speedups(sessions: Sequence[Mapping[str, Any]]) -> list[float]:
    return [math.log(session["speedup"]["estimate"]) for session in sessions]


def _smallest_effect(sessions: Sequence[Mapping[str, Any]], confidence: float) -> float:
    """What the claim's interval would have told from 1 with power 0.9."""
    if len(sessions) < SESSIONS_FOR_INTERVAL:
        return max(float(s["smallest_effect_ratio"]) for s in sessions)
    logs = _log_speedups(sessions)
    return mean_of(logs).detectable(confidence)


def _said(
    sessions: Sequence[Mapping[str, Any]], margin: float, confidence: float
) -> str:
    """The outcome on which every session and their interval agree."""
    found = {session["outcome"] for session in sessions}
    noise = max(Interval(**session["null"]).excursion for session in sessions)
    found.add(outcome(combined(sessions, confidence)[0], margin, noise))
    return found.pop() if len(found) == 1 else "inconclusive"


def components(sessions: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Standard deviations of log speedups: samples, rounds, sessions.

    `session_predicted_sd` is what the rounds inside sessions say of the spread between
    them; `session_sd` is what sessions show beyond that. None with a single session.
    """
    parts = [session["components"] for session in sessions]

    def pooled(values: Sequence[float]) -> float:
        return math.sqrt(float(np.mean(np.square(values))))

    predicted = pooled(
        [
            part["ratio_sd"] / math.sqrt(len(session["round_speedups"]))
            for part, session in zip(parts, sessions, strict=True)
        ]
    )
    logs = _log_speedups(sessions)
    seen = float(np.std(logs, ddof=1)) if len(sessions) > 1 else None
    return {
        "sample_sd": pooled([part["sample_sd"] for part in parts]),
        "round_sd": pooled([part["round_sd"] for part in parts]),
        "session_seen_sd": seen,
        "session_predicted_sd": predicted,
        "session_sd": (
            None if seen is None else math.sqrt(max(0.0, seen**2 - predicted**2))
        ),
    }


def _middle(sessions: Sequence[Mapping[str, Any]], key: str) -> float:
    """Median over sessions of the session's median."""
    return float(np.median([session[key]["median_us"] for session in sessions]))


def judge(derived: Mapping[str, Any], margin: float) -> Verdict:
    """Whether the sessions together decide."""
    found, speedups = derived["session_outcomes"], derived["session_speedups"]
    if len(set(found)) > 1:
        return Verdict.inconclusive(
            Reason.SESSIONS_DISAGREE,
            f"sessions say {', '.join(found)}; speedup {min(speedups):.4g} to "
            f"{max(speedups):.4g}",
        )
    lower, upper = derived["speedup"]["lower"], derived["speedup"]["upper"]
    if derived["outcome"] == "inconclusive":
        return Verdict.inconclusive(
            Reason.INTERVAL_TOO_WIDE,
            f"speedup [{lower:.4g}, {upper:.4g}] over {derived['unit']}, or over the "
            f"planned ones alone, reaches past the margin {margin:g} or the noise of "
            "the null comparison",
        )
    return Verdict.passed(
        f"{derived['outcome']} in {len(found)} "
        f"{'session' if len(found) == 1 else 'sessions'}, speedup "
        f"[{lower:.4g}, {upper:.4g}]"
    )
