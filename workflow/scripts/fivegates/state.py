"""The device's state over a session: what was read, and what that is worth.

A quantity that was not reported is None and named as missing, never 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivegates.table import from_csv


@dataclass(frozen=True, kw_only=True, slots=True)
class StateRow:
    """One reading, `elapsed_s` after the session began; None = not reported."""

    elapsed_s: float
    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    pstate: int | None
    utilization_ratio: float | None
    compute_processes: int | None
    throttle_reasons: str | None


STATE_COLUMNS = tuple(StateRow.__dataclass_fields__)
# Power capping is how a GPU at its limit runs every kernel; these are faults.
THROTTLING = (
    "hw-slowdown",
    "sw-thermal-slowdown",
    "hw-thermal-slowdown",
    "hw-power-brake",
)
# Someone set these clocks; without it the device chose them.
LOCKED = "applications-clocks-setting"
# A state that was not read for longer is not known.
LONGEST_GAP_S = 1.0
REQUIRED = ("sm_clock_mhz", "compute_processes", "throttle_reasons")


def derive(
    text: str, conditions: Mapping[str, Any], span_s: tuple[float, float], name: str
) -> dict[str, Any]:
    """What the state was from `span_s[0]` to `span_s[1]`, in seconds of the session."""
    rows = from_csv(text, STATE_COLUMNS, name)
    times = [_number(row["elapsed_s"]) for row in rows]
    inside = [t for t in times if t is not None and span_s[0] <= t <= span_s[1]]
    gaps = np.diff([span_s[0], *inside, span_s[1]])
    reasons = {r for row in rows for r in (row["throttle_reasons"] or "").split("+")}

    def known(column: str) -> list[float]:
        values = (_number(row[column]) for row in rows)
        return [value for value in values if value is not None]

    # Of the reasons an empty field says that there were none.
    # Where not even the session itself is counted, nobody is.
    missing = [c for c in REQUIRED[:2] if not any(known(c))]
    missing += [] if conditions["throttle_reasons_reported"] else [REQUIRED[2]]
    return {
        "readings": len(rows),
        "readings_in_rounds": len(inside),
        "longest_gap_s": float(gaps.max()),
        "missing": missing,
        "sm_clock_min_mhz": min(known("sm_clock_mhz"), default=None),
        "sm_clock_max_mhz": max(known("sm_clock_mhz"), default=None),
        "memory_clock_min_mhz": min(known("memory_clock_mhz"), default=None),
        "memory_clock_max_mhz": max(known("memory_clock_mhz"), default=None),
        "temperature_max_c": max(known("temperature_c"), default=None),
        "power_max_w": max(known("power_w"), default=None),
        "compute_processes": max(known("compute_processes"), default=None),
        "throttle_reasons": sorted(reasons - {""}),
        "clock_policy": "locked" if rows and all(map(_is_locked, rows)) else "observed",
    }


def _is_locked(row: Mapping[str, str]) -> bool:
    return LOCKED in (row["throttle_reasons"] or "").split("+")


def is_complete(state: Mapping[str, Any]) -> bool:
    """Whether the state was seen while the rounds ran, with all that must be known."""
    return not state["missing"] and state["longest_gap_s"] <= LONGEST_GAP_S


def lock_commands(
    gpu_uuid: str, conditions: Mapping[str, Any], clock_policy: str
) -> dict[str, list[str]]:
    """Commands that would lock this device's clocks, and those that undo them.

    They need rights that fivegates neither has nor takes. None where clocks are locked
    already: to what, the device does not say, so nothing could restore it.
    """
    sm, memory = conditions["sm_clock_max_mhz"], conditions["memory_clock_max_mhz"]
    if sm is None or memory is None or clock_policy == "locked":
        return {"lock": [], "restore": []}
    smi = f"nvidia-smi -i {gpu_uuid}"
    lock = [f"{smi} -lgc {sm},{sm}", f"{smi} -lmc {memory},{memory}"]
    restore = [f"{smi} -rgc", f"{smi} -rmc"]
    if conditions["persistence_mode"] is False:
        lock.insert(0, f"{smi} -pm 1")
        restore.append(f"{smi} -pm 0")
    return {"lock": lock, "restore": restore}


def unlocked_cost_ratio(width: float, cycles_width: float | None) -> float | None:
    """What unlocked clocks add to an interval: its width over that in cycles, less 1.

    None where no clock was read in the blocks. Widths are ratios, upper over lower.
    """
    if cycles_width is None or cycles_width <= 1:
        return None
    return math.log(width) / math.log(cycles_width) - 1


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def other_processes(state: Mapping[str, Any]) -> int:
    """Compute processes on the device beside the session's own."""
    return max(0, int(state["compute_processes"] or 0) - 1)


def slowed(state: Mapping[str, Any]) -> Sequence[str]:
    """Throttle reasons that are faults."""
    return [reason for reason in state["throttle_reasons"] if reason in THROTTLING]
