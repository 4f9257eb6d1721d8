import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from fivegates.claim import Tolerance, cases
from fivegates.comparison import compare, judged
from fivegates.contract import Case, Right, digest
from fivegates.errors import ArtifactError
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


def test_shared_memory_that_differs_is_a_second_cause(claim):
    claim = replace(claim, cases_sha256="0" * 64)
    found = {**measured(variants=(0, 1, 2)), "shared_fills": [255, 123, 251, 0]}
    assert judge(found, claim).message == (
        "n=257, seed=7, lab: 3 different outputs in 3 launches on equal inputs; look "
        "for a race or a read of shared memory that nobody has set"
    )


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
            "0: y=inf, r=-1",
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
