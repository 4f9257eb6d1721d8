import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fivegates.claim import Tolerance, cases
from fivegates.comparison import compare, judged, never_written
from fivegates.contract import Case, Right, digest
from fivegates.errors import ArtifactError, ClaimError
from fivegates.impostors import accepted_impostors
from fivegates.job import CaseReport
from fivegates.record import Reason
from fivegates.reference import (
    case_key,
    case_result,
    derive,
    judge,
    keys,
    require_complete,
)
from fivegates.store import canonical
from fivegates.trial import one_case_of_each_size

TOLERANCE = Tolerance(atol=2e-6, rtol=2e-5)
CASE = Case(generator="lab", seed=7, sizes={"n": 257})
floats = st.floats(-(2.0**40), 2.0**40, width=32)


def right(n=257):
    return np.linspace(-1.0, 1.0, n, dtype=np.float32).astype(np.float64)


@given(arrays(np.float64, st.integers(0, 40), elements=floats))
def test_float32_rounding_of_the_oracle_passes(expected):
    assert compare(expected.astype(np.float32), expected, TOLERANCE).failures == 0


@given(st.integers(0, 256), st.sampled_from([np.nan, np.inf, -np.inf, 7.0]))
def test_single_wrong_element_is_found_where_it_is(index, wrong):
    actual = right().astype(np.float32)
    actual[index] = wrong
    found = compare(actual, right(), TOLERANCE)
    assert (found.failures, found.first_failure) == (1, index)
    assert found.nonfinite == int(not np.isfinite(wrong))
    assert found.actual == (wrong if np.isfinite(wrong) else None)
    assert found.expected == right()[index]


def test_two_errors_that_cancel_are_two_failures():
    """corpus A17: their sum hides both."""
    actual = right().astype(np.float32)
    actual[10] += 1
    actual[11] -= 1
    found = compare(actual, right(), TOLERANCE)
    assert found.failures == 2
    assert found.max_abs_error == pytest.approx(1, rel=1e-6)


def test_tolerance_is_inclusive_at_its_edge():
    exact = Tolerance(atol=0.5, rtol=0.0)
    assert compare(np.array([1.5]), np.array([1.0]), exact).failures == 0
    assert compare(np.array([1.5000001]), np.array([1.0]), exact).failures == 1


def test_poison_is_told_from_other_nan():
    actual = right(4).astype(np.float32)
    actual[1] = np.nan
    actual[2:3].view(np.uint32)[:] = 0xFFFFFFFF
    found = compare(actual, right(4), TOLERANCE)
    assert (found.nonfinite, found.unwritten) == (2, 1)


def test_empty_case_has_no_failure():
    empty = np.empty(0)
    assert compare(empty.astype(np.float32), empty, TOLERANCE).failures == 0
    assert never_written(empty).failures == 0


def test_triad_contract_refuses_every_impostor(triad):
    for generator in ("lab", "wide"):
        case = Case(generator=generator, seed=7, sizes={"n": 4099})
        expected = triad.expected(triad.inputs(case), case.sizes)
        assert accepted_impostors(expected, TOLERANCE) == ()


def test_tolerance_that_accepts_zeros_is_named():
    """corpus E02"""
    small = plain(np.full(4096, 1e-4) + np.arange(4096) * 1e-9)
    loose = Tolerance(atol=1e-2, rtol=0.0)
    assert accepted_impostors(small, loose) == (
        "zeros for y",
        "mean for y",
        "half-written for y",
        "shifted for y",
        "scaled for y",
        "less precise for y",
    )


def test_few_extreme_values_do_not_speak_for_all_the_others(triad):
    """The planted 1e10 is refused by any tolerance; what of the rest?"""
    case = Case(generator="lab", seed=7, sizes={"n": 4099})
    expected = triad.expected(triad.inputs(case), case.sizes)
    for loose in (Tolerance(atol=1e9, rtol=0.0), Tolerance(atol=0.0, rtol=0.99)):
        assert accepted_impostors(expected, loose) != ()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_oracle_that_is_not_finite_is_refused(triad, value):
    """Unless the contract says what becomes of NaN and infinity."""
    arrays = {name: np.full(4, value, np.float32) for name in ("x", "z")}
    with pytest.raises(ClaimError, match="oracle is not finite"):
        triad.expected(arrays, {"n": 4})
    open_to_it = replace(triad, nonfinite="propagate")
    with np.errstate(invalid="ignore"):
        (found,) = open_to_it.expected(arrays, {"n": 4}).values()
    assert not np.isfinite(found.values).any()


NONFINITE = np.array([np.nan, np.inf, -np.inf, 1.0])


def test_nonfinite_must_be_the_same_and_written():
    actual = NONFINITE.astype(np.float32)
    assert compare(actual, NONFINITE, TOLERANCE).failures == 0
    for index in range(4):
        wrong = actual.copy()
        wrong[index] = 0.0 if index < 3 else np.nan
        found = compare(wrong, NONFINITE, TOLERANCE)
        assert (found.failures, found.first_failure) == (1, index)
    unwritten = actual.copy()
    unwritten.view(np.uint32)[0] = 0xFFFFFFFF
    found = compare(unwritten, NONFINITE, TOLERANCE)
    assert (found.failures, found.unwritten) == (1, 1)


def test_error_is_held_against_the_magnitude_where_there_is_one():
    tolerance = Tolerance(atol=0.0, rtol=1e-6)
    actual, expected = np.float32([1e-3]), np.array([0.0])
    assert compare(actual, expected, tolerance).failures == 1
    assert compare(actual, expected, tolerance, np.array([1e4])).failures == 0


def test_constant_output_is_no_impostor_of_itself():
    constant = plain(np.full(16, 3.0))
    assert accepted_impostors(constant, TOLERANCE) == ()


def plain(values):
    return {"y": Right(values=values, magnitude=np.abs(values))}


def report(**changes):
    fields = {"index": 0, "variants": (0,) * 10, "changed_inputs": ()}
    fields |= {"error": None, "limit": None}
    return CaseReport(**{**fields, **changes})


def measured(actual=None, **changes):
    actual = right().astype(np.float32) if actual is None else actual
    outputs = {"y": compare(actual, right(), TOLERANCE)}
    if changes.get("error"):
        outputs = {}
    return {
        "accepted_impostors": [],
        "timed_out": None,
        "cases": [case_result(CASE, report(**changes), outputs)],
    }


def off_at(index, by):
    actual = right().astype(np.float32)
    actual[index] += by
    return actual


def unwritten_at(index):
    actual = right().astype(np.float32)
    actual[index:].view(np.uint32)[:] = 0xFFFFFFFF
    return actual


@pytest.mark.parametrize(
    ("found", "reason", "message"),
    [
        (
            measured(off_at(256, 1.25)),
            Reason.TOLERANCE_EXCEEDED,
            "n=257, seed=7, lab: 1 of 257 elements of y outside tolerance; first at "
            "256: y=2.25, r=1, |y-r|=1.25 > 2.2e-05",
        ),
        (
            measured(unwritten_at(254)),
            Reason.UNWRITTEN_OUTPUT,
            "n=257, seed=7, lab: 3 of 257 elements of y outside tolerance; first at "
            "254: unwritten, r=0.984375; they are the last 3",
        ),
        (
            measured(off_at(0, np.inf)),
            Reason.NONFINITE_OUTPUT,
            "n=257, seed=7, lab: 1 of 257 elements of y outside tolerance; first at "
            "0: not finite, r=-1",
        ),
        (
            measured(variants=(0, 0, 1, 0, 2)),
            Reason.NONDETERMINISTIC_OUTPUT,
            "n=257, seed=7, lab: 3 different outputs in 5 launches on equal inputs; "
            "look for a race",
        ),
        (
            measured(changed_inputs=("x",)),
            Reason.INPUT_CHANGED,
            "n=257, seed=7, lab: input x was changed",
        ),
        (
            measured(variants=(), error="cudaErrorIllegalAddress"),
            Reason.LAUNCH_ERROR,
            "n=257, seed=7, lab: cudaErrorIllegalAddress",
        ),
    ],
    ids=lambda value: value if isinstance(value, Reason) else "",
)
def test_each_way_of_being_wrong_has_its_reason(claim, found, reason, message):
    verdict = judge(found, claim)
    assert (verdict.status, verdict.reason, verdict.message) == (
        "fail",
        reason,
        message,
    )


def test_right_kernel_passes_with_its_totals(claim):
    verdict = judge(measured(), claim)
    assert verdict.status == "pass"
    assert verdict.message.startswith("1 cases, 10 launches, max |y-r|/|r| ")
    assert derive(measured())["elements"] == 257


def test_contract_that_cannot_tell_decides_nothing(claim):
    weak = {**measured(), "accepted_impostors": ["zeros for y"]}
    verdict = judge(weak, claim)
    assert (verdict.status, verdict.reason) == (
        "inconclusive",
        Reason.CONTRACT_TOO_WEAK,
    )


def test_gate_that_ran_out_of_time_did_not_run(claim):
    verdict = judge({**measured(), "timed_out": case_key(CASE)}, claim)
    assert (verdict.status, verdict.reason) == ("not-run", Reason.TIMEOUT)
    assert verdict.message == "n=257, seed=7, lab: no end within 120 s"


def test_lab_inputs_hold_zeros_cancellation_and_large_values(triad):
    case = Case(generator="lab", seed=19, sizes={"n": 10_000})
    inputs = triad.inputs(case)
    for start in (0, 4096, 8192):
        assert inputs["x"][start : start + 3].tolist() == [0.0, 1.0, 1e10]
        assert inputs["z"][start : start + 3].tolist() == [0.0, -1.25, -1e10]
    expected = triad.oracle(inputs, case.sizes)["y"]
    assert expected[1] == 0.0
    assert inputs["x"].dtype == np.float32
    assert expected.dtype == np.float64


def test_generators_are_deterministic_and_differ_by_seed(triad):
    for generator in ("lab", "wide"):
        first, again, other = (
            triad.inputs(Case(generator=generator, seed=seed, sizes={"n": 300}))["x"]
            for seed in (7, 7, 101)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_sanitizer_sees_every_size_once(claim, triad):
    chosen = one_case_of_each_size(claim, triad)
    assert [c.sizes["n"] for c in chosen] == [0, 1, 255, 256, 257, 1_000_003]


def test_message_is_the_same_from_the_record_whose_keys_are_sorted(claim):
    """The verifier derives it again from what was written."""
    case = Case(generator="lab", seed=7, sizes={"rows": 3, "cols": 257})
    outputs = {"y": compare(off_at(5, 1.0), right(), TOLERANCE)}
    found = {**measured(), "cases": [case_result(case, report(), outputs)]}
    found["cases"].append(case_result(CASE, report(), measured_right()))
    written = json.loads(canonical(found))
    assert judge(written, claim) == judge(found, claim)
    assert "cols=257, rows=3, seed=7, lab" in judge(found, claim).message


def measured_right():
    return {"y": compare(right().astype(np.float32), right(), TOLERANCE)}


def test_cases_must_be_those_of_the_frozen_plan(claim):
    found = measured()
    found["cases"][0]["sizes"] = dict(claim.workload.sizes)
    planned = replace(claim, cases_sha256=digest(keys(found)))
    require_complete(found, planned, [10])
    found["cases"][0]["seed"] += 1
    with pytest.raises(ArtifactError) as error:
        require_complete(found, planned, [10])
    assert str(error.value) == (
        f"reference: cases have sha256 {digest(keys(found))}, expected "
        f"{planned.cases_sha256} as in the claim"
    )


def test_seed_of_a_claim_shifts_that_of_every_case(claim, triad):
    plain, shifted = cases(claim, triad), cases(replace(claim, seed=5), triad)
    assert [c.seed + 5 for c in plain] == [c.seed for c in shifted]
    assert [(c.generator, c.sizes) for c in plain] == [
        (c.generator, c.sizes) for c in shifted
    ]


def test_kernel_that_differs_from_itself_is_told_before_its_errors(claim):
    """Claims of before, without a plan of cases, are judged as they were."""
    wrong = case_result(
        CASE, report(), {"y": compare(off_at(5, 1), right(), TOLERANCE)}
    )
    other = replace(CASE, sizes={"n": 256})
    varying = case_result(other, report(variants=(0, 1)), measured_right())
    found = {**measured(), "cases": [wrong, varying]}
    before = judge(found, claim)
    assert before.reason == Reason.TOLERANCE_EXCEEDED
    assert "wrong at" not in before.message
    now = judge(found, replace(claim, cases_sha256="0" * 64))
    assert (now.reason, now.message) == (
        Reason.NONDETERMINISTIC_OUTPUT,
        "n=256, seed=7, lab: 2 different outputs in 2 launches on equal inputs; look "
        "for a race",
    )
    right_elsewhere = case_result(
        replace(CASE, sizes={"n": 1}), report(), measured_right()
    )
    found["cases"].append(right_elsewhere)
    now = judge(found, replace(claim, cases_sha256="0" * 64))
    assert now.message.endswith("; wrong at n=257, n=256, right at n=1")


def test_elements_in_any_order_are_sorted_before_they_are_compared(claim):
    values = np.array([1.0, 2.0, 4.0])
    right = Right(values=values, magnitude=values, unordered=True)
    exact = Tolerance(atol=0.0, rtol=0.0)
    assert judged(np.float32([4, 1, 2]), right, exact).failures == 0
    twice = judged(np.float32([4, 2, 2]), right, exact)
    assert (twice.failures, twice.actual, twice.expected) == (1, 2.0, 1.0)
    assert judged(np.float32([4, np.nan, 2]), right, exact).nonfinite == 1
    assert accepted_impostors({"y": right}, exact) == ()
    wrong = case_result(CASE, report(), {"y": twice})
    found = judge({**measured(), "cases": [wrong]}, replace(claim, order="unordered"))
    assert found.message == (
        "n=257, seed=7, lab: 1 of 3 elements of y outside tolerance; first of the "
        "sorted at 0: y=2, r=1, |y-r|=1 > 0"
    )


def test_order_that_is_free_may_give_other_bits(claim):
    varying = case_result(CASE, report(variants=(0, 1)), measured_right())
    found = {**measured(), "cases": [varying]}
    free = judge(found, replace(claim, order="free"))
    assert free.status == "pass"
    assert "1 cases, 1 of them differ from launch to launch, 2 launches" in free.message
