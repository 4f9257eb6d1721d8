"""The contract against itself: wrong outputs that any useful tolerance refuses.

A contract that lets one pass cannot tell right from wrong, and refuses the claim.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from fivegates.claim import Tolerance
from fivegates.comparison import judged, tolerance_ratio
from fivegates.contract import (
    Arrays,
    Case,
    Expected,
    Operation,
    Right,
    Sizes,
    in_case,
)
from fivegates.errors import ClaimError
from fivegates.trial import in_parallel

# Bits of a significand that is plainly too short, of 24, 11 and 8.
FEWER_BITS = {"float32": 11, "float16": 7, "bfloat16": 5}
ROOM = 0.5
OTHER_SEED = 1


def impostors(right: Right) -> Mapping[str, np.ndarray]:
    """Wrong outputs made from the right one; not finite where that is not."""
    flat = right.values
    finite = flat[np.isfinite(flat)]
    half = flat.copy()
    half[flat.size // 2 :] = 0.0
    found = {
        "zeros": np.zeros_like(flat),
        "mean": np.full_like(flat, finite.mean() if finite.size else 0.0),
        "half-written": half,
        "shifted": np.roll(flat, 1),
        "scaled": 1.5 * flat,
    }
    if right.unordered:
        del found["shifted"]
    if bits := FEWER_BITS.get(right.dtype):
        found["less precise"] = rounded(flat, bits)
    return found


def rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """The values with a significand of so many bits, in the same range."""
    significand, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(significand, bits)), exponent - bits))


def accepts(wrong: np.ndarray, right: Right, tolerance: Tolerance) -> bool:
    """Whether fewer than half of the elements in which it is wrong are refused.

    A few extreme values must not speak for all the others.
    """
    wrong = right.arranged(wrong)
    same = (wrong == right.values) | (np.isnan(wrong) & np.isnan(right.values))
    return 2 * judged(wrong, right, tolerance).failures < int((~same).sum())


def accepted_impostors(expected: Expected, tolerance: Tolerance) -> tuple[str, ...]:
    """Impostors that the contract lets pass: none, if it can tell right from wrong."""
    return tuple(
        f"{impostor} for {name}"
        for name, right in expected.items()
        for impostor, wrong in impostors(right).items()
        if accepts(wrong, right, tolerance)
    )


def weaknesses(
    operation: Operation, sizes: Sizes, tolerance: Tolerance
) -> tuple[str, ...]:
    """What passes at the timed sizes and must not, for each generator but stress.

    ClaimError where an output that is only rounded has no room in the tolerance.
    """
    first = {c.generator: c for c in operation.cases(sizes)[::-1] if c.sizes == sizes}
    asked = [
        case for name, case in sorted(first.items()) if name not in operation.stress
    ]
    found = in_parallel(lambda case: _weaknesses(operation, case, tolerance), asked)
    return tuple(chain.from_iterable(found))


def _weaknesses(
    operation: Operation, case: Case, tolerance: Tolerance
) -> Sequence[str]:
    with in_case(case):
        inputs = operation.inputs(case)
        expected = operation.expected(inputs, case.sizes)
    _require_room(expected, tolerance)
    weak = accepted_impostors(expected, tolerance)
    weak += _unmoved(operation, case, inputs, expected, tolerance)
    return [f"{impostor} ({case.generator})" for impostor in weak]


def _require_room(expected: Expected, tolerance: Tolerance) -> None:
    for name, right in expected.items():
        with np.errstate(over="ignore"):
            nearest = right.values.astype(right.dtype)
        ratio = tolerance_ratio(nearest, right, tolerance)
        if ratio > ROOM:
            raise ClaimError(
                f"tolerance: {name} rounded to {right.dtype} reaches {ratio:.2g} of "
                f"it, expected at most {ROOM:g}; no kernel comes nearer"
            )


def _unmoved(
    operation: Operation,
    case: Case,
    inputs: Arrays,
    expected: Expected,
    tolerance: Tolerance,
) -> tuple[str, ...]:
    """Results from other values of one input, or of all, that the contract takes."""
    other = operation.inputs(
        Case(generator=case.generator, seed=case.seed + OTHER_SEED, sizes=case.sizes)
    )
    swaps: dict[str, Arrays] = {"other inputs": other}
    swaps |= {f"other values of {n}": {**inputs, n: other[n]} for n in inputs}
    return tuple(
        name
        for name, arrays in swaps.items()
        if not _refused(operation.expected(arrays, case.sizes), expected, tolerance)
    )


def _refused(found: Expected, expected: Expected, tolerance: Tolerance) -> bool:
    """Whether some output differs, and none that differs is let pass."""
    differs = [
        name
        for name, right in expected.items()
        if not np.array_equal(found[name].values, right.values, equal_nan=True)
    ]
    return bool(differs) and not any(
        accepts(found[name].values, expected[name], tolerance) for name in differs
    )
