"""One output against its oracle, element by element."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fivegates.claim import Tolerance
from fivegates.contract import Right
from fivegates.job import POISON_BYTE


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One output array against its oracle.

    Errors are over finite elements, None where there is none; `max_rel_error` is
    |y - r| / |r| where r is not 0. `zero_signs` counts zeros of the other sign,
    `stride` divides every distance between failures, `beside` counts elements written
    beside those of a view. `actual`, `expected` and `allowed` are those of the first
    failure, in words where they are not finite; `actual` is None where it is poison.
    """

    elements: int
    failures: int
    unwritten: int
    nonfinite: int
    zero_signs: int
    max_abs_error: float | None
    max_rel_error: float | None
    first_failure: int | None
    last_failure: int | None
    stride: int | None
    actual: float | str | None
    expected: float | str | None
    allowed: float | None
    beside: int = 0


def compare(
    actual: np.ndarray,
    expected: np.ndarray,
    tolerance: Tolerance,
    magnitude: np.ndarray | None = None,
) -> Comparison:
    """Check every element of an output against float64 values, all the same shape.

    `magnitude` is |r| unless it is given; the sign of a zero does not count.
    """
    r = expected.ravel()
    against = np.abs(r) if magnitude is None else magnitude.ravel()
    return judged(actual, Right(values=r, magnitude=against), tolerance)


def judged(actual: np.ndarray, right: Right, tolerance: Tolerance) -> Comparison:
    """Check every element: `|y - r| <= atol + rtol*magnitude`, y finite.

    Where r is not finite, y must be the same, and written.
    """
    actual = right.arranged(actual)
    y, r = actual.astype(np.float64), right.values
    allowed = right.allowed(tolerance.atol, tolerance.rtol)
    poisoned = _poisoned(actual)
    finite = np.isfinite(y) & np.isfinite(r)
    error = np.abs(np.where(finite, y, 0.0) - np.where(finite, r, 0.0))
    same = (y == r) | (np.isnan(y) & np.isnan(r))
    signs = (y == 0) & (r == 0) & (np.signbit(y) != np.signbit(r))
    outside = ~np.where(finite, error <= allowed, same)
    outside |= poisoned | (signs & right.signed_zero)
    comparable = finite & (r != 0)
    failed = np.flatnonzero(outside)
    first = int(failed[0]) if failed.size else None
    return Comparison(
        elements=y.size,
        failures=int(failed.size),
        unwritten=int((poisoned & outside).sum()),
        nonfinite=int((~np.isfinite(y) & outside).sum()),
        zero_signs=int(signs.sum()),
        max_abs_error=_largest(error[finite]),
        max_rel_error=_largest(error[comparable] / np.abs(r[comparable])),
        first_failure=first,
        last_failure=int(failed[-1]) if failed.size else None,
        stride=_stride(failed),
        actual=None if first is None or poisoned[first] else _recorded(y[first]),
        expected=None if first is None else _recorded(r[first]),
        allowed=None if first is None else float(allowed[first]),
    )


def judged_in_place(
    allocation: np.ndarray, right: Right, tolerance: Tolerance
) -> Comparison:
    """Check every element, and that nothing beside a view was written."""
    if right.layout is None:
        return judged(allocation, right, tolerance)
    places = right.layout.places()
    written = ~_poisoned(allocation)
    written[places] = False
    found = judged(allocation[places], right, tolerance)
    return replace(found, beside=int(written.sum()))


def distinct(outputs: Sequence[np.ndarray], right: Right) -> list[np.ndarray]:
    """Those of which no other holds the same elements, where any order is right."""
    if not right.unordered or right.layout is not None:
        return list(outputs)
    held: dict[bytes, np.ndarray] = {}
    for y in outputs:
        held.setdefault(np.sort(y.view(f"u{y.itemsize}")).tobytes(), y)
    return list(held.values())


def _recorded(value: float) -> float | str:
    """A value as JSON can hold it: a number, or nan, inf or -inf in words."""
    return float(value) if np.isfinite(value) else str(float(value))


def _stride(failed: np.ndarray) -> int | None:
    """Greatest common divisor of the distances between the failures."""
    return int(np.gcd.reduce(np.diff(failed))) if failed.size > 1 else None


def _poisoned(actual: np.ndarray) -> np.ndarray:
    poison = int.from_bytes([POISON_BYTE] * actual.itemsize)
    return np.asarray(actual.view(f"u{actual.itemsize}") == poison)


def _largest(errors: np.ndarray) -> float | None:
    return float(errors.max()) if errors.size else None


def never_written(expected: np.ndarray) -> Comparison:
    """The comparison for an output that no launch wrote: every element is poison."""
    size = expected.size
    return Comparison(
        elements=size,
        failures=size,
        unwritten=size,
        nonfinite=size,
        zero_signs=0,
        max_abs_error=None,
        max_rel_error=None,
        first_failure=0 if size else None,
        last_failure=size - 1 if size else None,
        stride=1 if size > 1 else None,
        actual=None,
        expected=_recorded(expected.flat[0]) if size else None,
        allowed=None,
    )


def tolerance_ratio(actual: np.ndarray, right: Right, tolerance: Tolerance) -> float:
    """Largest |y - r| in shares of what is allowed: above 1 is outside.

    Infinite where only one of the two is finite.
    """
    y, r = right.arranged(actual).astype(np.float64), right.values
    if not y.size:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(y - r) / right.allowed(tolerance.atol, tolerance.rtol)
    same = (y == r) | (np.isnan(y) & np.isnan(r))
    finite = np.isfinite(y) & np.isfinite(r)
    return float(np.where(same, 0.0, np.where(finite, ratio, np.inf)).max())


def worst(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison with the most failures, of the distinct outputs of one case."""
    return max(comparisons, key=lambda found: (found.failures, found.beside))
