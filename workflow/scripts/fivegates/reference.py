"""Gate 1, decided: outputs against the float64 oracle, and what a failure looks like.

A kernel that disagrees with itself on equal inputs is refused whatever its error:
rounding cannot explain it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from fivegates.claim import Claim
from fivegates.comparison import Comparison
from fivegates.contract import Case, digest
from fivegates.errors import ArtifactError
from fivegates.job import CaseReport
from fivegates.pattern import places, right_and_wrong, wrong_values
from fivegates.record import Reason, Verdict

UNSET_SHARED = " or a read of shared memory that nobody has set"


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
    if refusal := _first_refusal(measured, claim):
        return refusal
    total = derive(measured)
    error = total["max_rel_error"]
    largest = "no element" if error is None else f"max |y-r|/|r| {error:.2g}"
    differing = sum(case["distinct_outputs"] > 1 for case in measured["cases"])
    note = f", {differing} of them differ from launch to launch" if differing else ""
    return Verdict.passed(
        f"{total['cases']} cases{note}, {total['launches']} launches, {largest}"
    )


def _first_refusal(measured: Mapping[str, Any], claim: Claim) -> Verdict | None:
    """Why an arm is refused.

    One that differs from itself anywhere is not explained by what it gets wrong. Claims
    without a plan of cases were judged case by case, and are still.
    """
    cases = measured["cases"]
    refusals = [(case, refusal) for case in cases if (refusal := _refusal(case, claim))]
    if not refusals:
        return None
    if claim.cases_sha256 is None:
        return refusals[0][1]
    refusals.sort(key=lambda pair: pair[1].reason != Reason.NONDETERMINISTIC_OUTPUT)
    case, refusal = refusals[0]
    where = right_and_wrong(cases) if case["outputs"] else ""
    varies = refusal.reason == Reason.NONDETERMINISTIC_OUTPUT
    # Records without fills are older: their messages say less.
    if measured.get("shared_fills"):
        where += wrong_values(cases, case["sizes"])
        where = UNSET_SHARED + where if varies else where
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


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


def _failures(name: str, output: Mapping[str, Any], claim: Claim) -> str:
    tolerance, unordered = claim.tolerance, claim.order == "unordered"
    first, expected = output["first_failure"], output["expected"]
    count = f"{output['failures']} of {output['elements']} elements of {name}"
    actual = output["actual"]
    right = "r is not finite" if expected is None else f"r={_value(expected)}"
    if actual is None:
        found = "unwritten" if output["unwritten"] else "not finite"
        seen = f"{found}, {right}"
    elif expected is None or isinstance(actual, str) or isinstance(expected, str):
        seen = f"y={_value(actual)}, {right}"
    else:
        error = abs(actual - expected)
        allowed = output.get("allowed")
        if allowed is None:
            allowed = tolerance.atol + tolerance.rtol * abs(expected)
        seen = f"y={_value(actual)}, {right}, |y-r|={error:.3g} > {allowed:.3g}"
    if unordered:
        return f"{count} outside tolerance; first of the sorted at {first}: {seen}"
    return f"{count} outside tolerance; first at {first}: {seen}{places(output)}"
