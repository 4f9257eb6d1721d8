"""Gate 1, decided: outputs against the float64 oracle, and the contract against itself.

A NaN is outside every tolerance. A kernel that disagrees with itself on equal inputs is
refused whatever its error: rounding cannot explain it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fivegates.claim import Claim, Tolerance
from fivegates.contract import Arrays, Case, Operation, Sizes
from fivegates.errors import ArtifactError, ClaimError
from fivegates.job import POISON_BYTE, CaseReport
from fivegates.record import Reason, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One output array against its oracle.

    Errors are over finite elements, None where there is none; `max_rel_error` is
    |y - r| / |r| where r is not 0. `actual` is None where it is not finite.
    """

    elements: int
    failures: int
    unwritten: int
    nonfinite: int
    max_abs_error: float | None
    max_rel_error: float | None
    first_failure: int | None
    actual: float | None
    expected: float | None


def compare(
    actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance
) -> Comparison:
    """Check every element: `|y - r| <= atol + rtol*|r|`, y finite.

    `actual` has the claim's dtype, `expected` float64, both the same shape. ClaimError
    where the oracle is not finite: no contract says yet what is right there.
    """
    y, r = actual.ravel().astype(np.float64), expected.ravel()
    if not np.isfinite(r).all():
        raise ClaimError("the contract's oracle is not finite, expected finite values")
    finite = np.isfinite(y)
    error = np.abs(np.where(finite, y, 0.0) - r)
    outside = ~finite | (error > tolerance.atol + tolerance.rtol * np.abs(r))
    comparable = finite & (r != 0)
    first = int(np.argmax(outside)) if outside.any() else None
    return Comparison(
        elements=y.size,
        failures=int(outside.sum()),
        unwritten=int(_poisoned(actual).sum()),
        nonfinite=int((~finite).sum()),
        max_abs_error=_largest(error[finite]),
        max_rel_error=_largest(error[comparable] / np.abs(r[comparable])),
        first_failure=first,
        actual=None if first is None or not finite[first] else float(y[first]),
        expected=None if first is None else float(r[first]),
    )


def _poisoned(actual: np.ndarray) -> np.ndarray:
    raw = np.ascontiguousarray(actual).view(np.uint8)
    poisoned: np.ndarray = raw.reshape(actual.size, actual.itemsize) == POISON_BYTE
    return np.asarray(poisoned.all(axis=1))


def _largest(errors: np.ndarray) -> float | None:
    return float(errors.max()) if errors.size else None


def never_written(expected: np.ndarray) -> Comparison:
    """The comparison for an output that no launch wrote: every element is poison."""
    return Comparison(
        elements=expected.size,
        failures=expected.size,
        unwritten=expected.size,
        nonfinite=expected.size,
        max_abs_error=None,
        max_rel_error=None,
        first_failure=0 if expected.size else None,
        actual=None,
        expected=float(expected.flat[0]) if expected.size else None,
    )


def tolerance_ratio(
    actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance
) -> float:
    """Largest |y - r| / (atol + rtol*|r|): above 1 is outside; inf where not finite."""
    y, r = actual.ravel().astype(np.float64), expected.ravel()
    if not y.size:
        return 0.0
    allowed = tolerance.atol + tolerance.rtol * np.abs(r)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(y - r) / allowed
    return float(np.where(y == r, 0.0, np.where(np.isfinite(y), ratio, np.inf)).max())


def worst(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison with the most failures, of the distinct outputs of one case."""
    return max(comparisons, key=lambda comparison: comparison.failures)


def impostors(expected: np.ndarray) -> Mapping[str, np.ndarray]:
    """Wrong outputs that any useful tolerance refuses, made from the right one."""
    flat = expected.ravel()
    half = flat.copy()
    half[flat.size // 2 :] = 0.0
    return {
        "zeros": np.zeros_like(flat),
        "mean": np.full_like(flat, flat.mean()),
        "half-written": half,
        "shifted": np.roll(flat, 1),
        "scaled": 1.5 * flat,
    }


def accepted_impostors(expected: Arrays, tolerance: Tolerance) -> tuple[str, ...]:
    """Impostors that the contract lets pass: none, if it can tell right from wrong.

    One is let pass when fewer than half of the elements in which it is wrong are
    outside the tolerance: a few extreme values must not speak for all the others.
    """
    accepted = []
    for name, right in expected.items():
        for impostor, wrong in impostors(right).items():
            differing = int((wrong != right.ravel()).sum())
            if 2 * compare(wrong, right.ravel(), tolerance).failures < differing:
                accepted.append(f"{impostor} for {name}")
    return tuple(accepted)


def weaknesses(
    operation: Operation, sizes: Sizes, tolerance: Tolerance
) -> tuple[str, ...]:
    """Impostors that pass at the timed sizes, for each generator of the contract."""
    first = {c.generator: c for c in operation.cases(sizes)[::-1] if c.sizes == sizes}
    return tuple(
        f"{impostor} ({generator})"
        for generator, case in sorted(first.items())
        for impostor in accepted_impostors(
            operation.oracle(operation.inputs(case), sizes), tolerance
        )
    )


def case_key(case: Case) -> dict[str, Any]:
    """Which case it was, as JSON-ready data."""
    return {
        "generator": case.generator,
        "seed": case.seed,
        "sizes": dict(case.sizes),
    }


def keys(measured: Mapping[str, Any]) -> list[Case]:
    """The cases that were judged."""
    return [
        Case(generator=c["generator"], seed=c["seed"], sizes=c["sizes"])
        for c in measured["cases"]
    ]


def case_result(
    case: Case, report: CaseReport, outputs: Mapping[str, Comparison]
) -> dict[str, Any]:
    """What was measured of one case, as JSON-ready data."""
    return {
        **case_key(case),
        "launches": len(report.variants),
        "distinct_outputs": len(set(report.variants)),
        "changed_inputs": list(report.changed_inputs),
        "error": report.error,
        **({} if report.limit is None else {"limit": report.limit}),
        "outputs": {name: asdict(found) for name, found in outputs.items()},
    }


def derive(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Totals over the cases of one arm."""
    outputs = [
        output for case in measured["cases"] for output in case["outputs"].values()
    ]
    return {
        "cases": len(measured["cases"]),
        "launches": sum(case["launches"] for case in measured["cases"]),
        "elements": sum(output["elements"] for output in outputs),
        "failures": sum(output["failures"] for output in outputs),
        "max_abs_error": _largest_of(outputs, "max_abs_error"),
        "max_rel_error": _largest_of(outputs, "max_rel_error"),
    }


def _largest_of(outputs: Sequence[Mapping[str, Any]], key: str) -> float | None:
    return max((o[key] for o in outputs if o[key] is not None), default=None)


def require_complete(
    measured: Mapping[str, Any], claim: Claim, launches: Sequence[int]
) -> None:
    """ArtifactError where a gate says of itself that it looked at less than it must.

    `launches` is what each case needs.
    """
    cases = measured["cases"]
    if claim.workload.sizes not in [case["sizes"] for case in cases]:
        raise ArtifactError("reference: no case has the timed sizes, expected one")
    for case, needed in zip(cases, launches, strict=True):
        outputs = case["outputs"].values()
        if case.get("limit"):
            continue
        if case["error"] is None and not outputs:
            raise ArtifactError(f"reference: {_label(case)}: no output was compared")
        if case["error"] is None and case["launches"] not in (0, needed):
            raise ArtifactError(
                f"reference: {_label(case)}: {case['launches']} launches, "
                f"expected {needed}"
            )
        if not case["launches"] and any(
            o["failures"] != o["elements"] for o in outputs
        ):
            raise ArtifactError(f"reference: {_label(case)}: right without a launch")


def judge(measured: Mapping[str, Any], claim: Claim) -> Verdict:
    """The verdict on one arm: the first refusal, in the order of the cases."""
    tolerance = claim.tolerance
    if measured["timed_out"] is not None:
        return Verdict.not_run(
            Reason.TIMEOUT,
            f"{_label(measured['timed_out'])}: no end within "
            f"{claim.policy.reference.timeout_s:g} s",
        )
    if weak := measured["accepted_impostors"]:
        return Verdict.inconclusive(
            Reason.CONTRACT_TOO_WEAK,
            f"the tolerance accepts {', '.join(weak)}; it cannot tell",
        )
    for case in measured["cases"]:
        if refusal := _refusal(case, tolerance):
            return refusal
    total = derive(measured)
    error = total["max_rel_error"]
    largest = "no element" if error is None else f"max |y-r|/|r| {error:.2g}"
    return Verdict.passed(
        f"{total['cases']} cases, {total['launches']} launches, {largest}"
    )


def _refusal(case: Mapping[str, Any], tolerance: Tolerance) -> Verdict | None:
    label = _label(case)
    if limit := case.get("limit"):
        return Verdict.not_run(Reason.LIMIT_REACHED, f"{label}: {limit}")
    if case["error"] is not None:
        return Verdict.fail(Reason.LAUNCH_ERROR, f"{label}: {case['error']}")
    if case["changed_inputs"]:
        changed = ", ".join(case["changed_inputs"])
        return Verdict.fail(
            Reason.INPUT_CHANGED, f"{label}: input {changed} was changed"
        )
    for name, output in case["outputs"].items():
        if output["failures"]:
            return Verdict.fail(
                _cause(output), f"{label}: {_failures(name, output, tolerance)}"
            )
    if case["distinct_outputs"] > 1:
        return Verdict.fail(
            Reason.NONDETERMINISTIC_OUTPUT,
            f"{label}: {case['distinct_outputs']} different outputs in "
            f"{case['launches']} launches on equal inputs; look for a race",
        )
    return None


def _label(case: Mapping[str, Any]) -> str:
    (key,) = keys({"cases": [case]})
    return key.label()


def _cause(output: Mapping[str, Any]) -> Reason:
    if output["unwritten"]:
        return Reason.UNWRITTEN_OUTPUT
    if output["nonfinite"]:
        return Reason.NONFINITE_OUTPUT
    return Reason.TOLERANCE_EXCEEDED


def _failures(name: str, output: Mapping[str, Any], tolerance: Tolerance) -> str:
    first, expected = output["first_failure"], output["expected"]
    count = f"{output['failures']} of {output['elements']} elements of {name}"
    if output["actual"] is None:
        found = "unwritten" if output["unwritten"] else "not finite"
        return f"{count} outside tolerance; first at {first}: {found}, r={expected:.9g}"
    error = abs(output["actual"] - expected)
    allowed = tolerance.atol + tolerance.rtol * abs(expected)
    return (
        f"{count} outside tolerance; first at {first}: y={output['actual']:.9g}, "
        f"r={expected:.9g}, |y-r|={error:.3g} > {allowed:.3g}"
    )
