"""Gate 1, decided: outputs against the float64 oracle, and what a failure looks like.

A kernel that disagrees with itself on equal inputs is
refused whatever its error: rounding cannot explain it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fivegates.claim import Claim, Tolerance
from fivegates.contract import Case, Right, digest
from fivegates.errors import ArtifactError
from fivegates.job import POISON_BYTE, CaseReport
from fivegates.pattern import places, right_and_wrong
from fivegates.record import Reason, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One output array against its oracle.

    Errors are over finite elements, None where there is none; `max_rel_error` is
    |y - r| / |r| where r is not 0. `zero_signs` counts zeros of the other sign,
    `stride` divides every distance between failures, `beside` counts elements written
    beside those of a view. `actual`, `expected` and `allowed` are those of the first
    failure, None where they are not finite.
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
    actual: float | None
    expected: float | None
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
        actual=None if first is None else _finite(y[first]),
        expected=None if first is None else _finite(r[first]),
        allowed=None if first is None else _finite(allowed[first]),
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


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _stride(failed: np.ndarray) -> int | None:
    """Greatest common divisor of the distances between the failures."""
    return int(np.gcd.reduce(np.diff(failed))) if failed.size > 1 else None


def _poisoned(actual: np.ndarray) -> np.ndarray:
    raw = np.ascontiguousarray(actual).view(np.uint8)
    poisoned: np.ndarray = raw.reshape(actual.size, actual.itemsize) == POISON_BYTE
    return np.asarray(poisoned.all(axis=1))


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
        expected=_finite(expected.flat[0]) if size else None,
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
    if claim.cases_sha256 not in (None, digest(keys(measured))):
        raise ArtifactError(
            f"reference: cases have sha256 {digest(keys(measured))}, expected "
            f"{claim.cases_sha256} as in the claim"
        )
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
    if refusal := _first_refusal(measured["cases"], claim):
        return refusal
    total = derive(measured)
    error = total["max_rel_error"]
    largest = "no element" if error is None else f"max |y-r|/|r| {error:.2g}"
    differing = sum(case["distinct_outputs"] > 1 for case in measured["cases"])
    note = f", {differing} of them differ from launch to launch" if differing else ""
    return Verdict.passed(
        f"{total['cases']} cases{note}, {total['launches']} launches, {largest}"
    )


def _first_refusal(cases: Sequence[Mapping[str, Any]], claim: Claim) -> Verdict | None:
    """Why an arm is refused.

    One that differs from itself anywhere is not explained by what it gets wrong. Claims
    without a plan of cases were judged case by case, and are still.
    """
    refusals = [(case, refusal) for case in cases if (refusal := _refusal(case, claim))]
    if not refusals:
        return None
    if claim.cases_sha256 is None:
        return refusals[0][1]
    refusals.sort(key=lambda pair: pair[1].reason != Reason.NONDETERMINISTIC_OUTPUT)
    case, refusal = refusals[0]
    where = right_and_wrong(cases) if case["outputs"] else ""
    return replace(refusal, message=refusal.message + where)


def _refusal(case: Mapping[str, Any], claim: Claim) -> Verdict | None:
    """Why one case is refused; an order that is free may give other last bits."""
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
    varies = case["distinct_outputs"] > 1 and claim.order == "fixed"
    verdicts = [_inconstant(label, case)] if varies else []
    for name, output in case["outputs"].items():
        if output["failures"]:
            said = f"{label}: {_failures(name, output, claim)}"
            verdicts.append(Verdict.fail(_cause(output), said))
        if beside := output.get("beside"):
            said = f"{label}: {beside} elements beside the view of {name} were written"
            verdicts.append(Verdict.fail(Reason.WRITTEN_BESIDE, said))
    if claim.cases_sha256 is None:
        verdicts.sort(key=lambda v: v.reason == Reason.NONDETERMINISTIC_OUTPUT)
    return verdicts[0] if verdicts else None


def _inconstant(label: str, case: Mapping[str, Any]) -> Verdict:
    return Verdict.fail(
        Reason.NONDETERMINISTIC_OUTPUT,
        f"{label}: {case['distinct_outputs']} different outputs in "
        f"{case['launches']} launches on equal inputs; look for a race",
    )


def _label(case: Mapping[str, Any]) -> str:
    (key,) = keys({"cases": [case]})
    return key.label()


def _cause(output: Mapping[str, Any]) -> Reason:
    if output["unwritten"]:
        return Reason.UNWRITTEN_OUTPUT
    if output["nonfinite"]:
        return Reason.NONFINITE_OUTPUT
    return Reason.TOLERANCE_EXCEEDED


def _failures(name: str, output: Mapping[str, Any], claim: Claim) -> str:
    tolerance, unordered = claim.tolerance, claim.order == "unordered"
    first, expected = output["first_failure"], output["expected"]
    count = f"{output['failures']} of {output['elements']} elements of {name}"
    right = "r is not finite" if expected is None else f"r={expected:.9g}"
    if output["actual"] is None:
        found = "unwritten" if output["unwritten"] else "not finite"
        seen = f"{found}, {right}"
    elif expected is None:
        seen = f"y={output['actual']:.9g}, {right}"
    else:
        error = abs(output["actual"] - expected)
        allowed = output.get("allowed")
        if allowed is None:
            allowed = tolerance.atol + tolerance.rtol * abs(expected)
        seen = f"y={output['actual']:.9g}, {right}, |y-r|={error:.3g} > {allowed:.3g}"
    if unordered:
        return f"{count} outside tolerance; first of the sorted at {first}: {seen}"
    return f"{count} outside tolerance; first at {first}: {seen}{places(output)}"
