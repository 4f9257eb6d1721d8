"""Both settings of contraction: how far an output moves from one to the other."""

from pathlib import Path
from typing import Any

import numpy as np

from fivegates.claim import Tolerance
from fivegates.comparison import tolerance_ratio
from fivegates.contract import Case, Expected, Right
from fivegates.exercise import read_outputs
from fivegates.job import CaseReport
from fivegates.reference import case_key


def compare_settings(
    case: Case,
    separate: tuple[Path, CaseReport],
    fused: tuple[Path, CaseReport] | None,
    expected: Expected,
    tolerance: Tolerance,
) -> dict[str, Any]:
    """Errors of a case in shares of its tolerance; `separate` and `fused` are its runs.

    `contraction_spread_ratio` is the largest difference of the two, in the same unit.
    None where a run left no output to compare.
    """
    ratios: dict[str, list[float]] = {
        "tolerance_ratio": [],
        "contracted_tolerance_ratio": [],
        "contraction_spread_ratio": [],
    }
    for name, right in expected.items():
        one = _elements(separate, name, right)
        other = [] if fused is None else _elements(fused, name, right)
        ratios["tolerance_ratio"] += [tolerance_ratio(y, right, tolerance) for y in one]
        ratios["contracted_tolerance_ratio"] += [
            tolerance_ratio(y, right, tolerance) for y in other
        ]
        if one and other:
            ratios["contraction_spread_ratio"].append(
                _spread(one[0], other[0], right, tolerance)
            )
    return {
        **case_key(case),
        **{key: _largest(values) for key, values in ratios.items()},
    }


def _elements(
    run: tuple[Path, CaseReport], name: str, right: Right
) -> list[np.ndarray]:
    found = read_outputs(*run, name, right.dtype)
    if right.layout is not None:
        found = [y[right.layout.places()] for y in found]
    return [right.arranged(y) for y in found]


def _spread(
    one: np.ndarray, other: np.ndarray, right: Right, tolerance: Tolerance
) -> float:
    """|one - other| in shares of what the tolerance allows at `right`."""
    with np.errstate(invalid="ignore"):
        moved = one.astype(np.float64) - other.astype(np.float64)
    shifted = np.where(one == other, right.values, right.values + moved)
    return tolerance_ratio(shifted, right, tolerance)


def _largest(values: list[float]) -> float | None:
    finite = [value for value in values if np.isfinite(value)]
    return max(finite) if finite else None
