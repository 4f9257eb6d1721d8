"""When an arm is warm, and how many launches then fill a graph: rules over a trace.

The trace is kept; the verifier applies the same rules to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivegates.claim import TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.table import from_csv

# Steps that are compared: the later half of them with the earlier.
WINDOW = 16
WARMED = ("baseline", "candidate")
TRACE_COLUMNS = ("step", "role", "launches", "elapsed_us", "sm_clock_mhz", "end_s")


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceRow:
    """One step of an arm: microseconds a launch over `launches` of them."""

    step: int
    role: str
    launches: int
    elapsed_us: float
    sm_clock_mhz: float | None
    end_s: float


def is_stable(trace: Sequence[TraceRow], policy: TimingPolicy) -> bool:
    """Whether latency and SM clock of every role have come to rest.

    Medians over the last eight steps and over the eight before differ by at most
    `warmup_tolerance`, after `warmup_launches` launches and `warmup_s` seconds.
    """
    return all(
        _role_is_stable([row for row in trace if row.role == role], policy)
        for role in WARMED
    )


def _role_is_stable(rows: Sequence[TraceRow], policy: TimingPolicy) -> bool:
    if len(rows) < WINDOW or rows[-1].end_s - rows[0].end_s < policy.warmup_s:
        return False
    if sum(row.launches for row in rows) < policy.warmup_launches:
        return False
    latest = rows[-WINDOW:]
    clocks = [row.sm_clock_mhz for row in latest]
    known = [clock for clock in clocks if clock is not None]
    return _rests([row.elapsed_us for row in latest], policy.warmup_tolerance) and (
        len(known) < WINDOW or _rests(known, policy.warmup_tolerance)
    )


def _rests(values: Sequence[float], tolerance: float) -> bool:
    before, after = np.median(np.reshape(values, (2, -1)), axis=1)
    return bool(abs(math.log(after / before)) <= tolerance)


def launches_per_graph(
    trace: Sequence[TraceRow], slots: int, policy: TimingPolicy
) -> int:
    """Whole rotations of the slots that keep the baseline busy for `graph_us`."""
    rows = [row for row in trace if row.role == "baseline"]
    elapsed = float(np.median([row.elapsed_us for row in rows[-WINDOW // 2 :]]))
    return slots * max(1, math.ceil(policy.graph_us / (elapsed * slots)))


def parse_trace(text: str, name: str) -> tuple[TraceRow, ...]:
    """Read a trace; ArtifactError unless both arms take their steps in turn."""
    rows = from_csv(text, TRACE_COLUMNS, name)
    trace = tuple(
        _row(row, f"{name}: row {number}") for number, row in enumerate(rows, start=2)
    )
    for index, row in enumerate(trace):
        step, role = index // len(WARMED), WARMED[index % len(WARMED)]
        if (row.step, row.role) != (step, role):
            raise ArtifactError(
                f"{name}: row {index + 2}: step {row.step} of {row.role}, expected "
                f"step {step} of {role}"
            )
    return trace


def _row(row: dict[str, str], where: str) -> TraceRow:
    try:
        parsed = TraceRow(
            step=int(row["step"]),
            role=row["role"],
            launches=int(row["launches"]),
            elapsed_us=float(row["elapsed_us"]),
            sm_clock_mhz=float(row["sm_clock_mhz"]) if row["sm_clock_mhz"] else None,
            end_s=float(row["end_s"]),
        )
    except (TypeError, ValueError) as error:
        raise ArtifactError(f"{where}: {error}, expected a step of the trace") from None
    _require_finite(parsed, row, "elapsed_us", "positive", where)
    _require_finite(parsed, row, "sm_clock_mhz", "positive", where)
    _require_finite(parsed, row, "end_s", "non-negative", where)
    return parsed


def _require_finite(
    parsed: TraceRow, row: dict[str, str], column: str, sign: str, where: str
) -> None:
    value = getattr(parsed, column)
    if value is None:
        return
    right = value > 0 if sign == "positive" else value >= 0
    if not (math.isfinite(value) and right):
        raise ArtifactError(
            f"{where}: {column} is {row[column]!r}, expected a {sign} finite number"
        )
