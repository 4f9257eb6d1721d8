from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fivegates.claim import Tolerance
from fivegates.comparison import compare, distinct, judged, never_written
from fivegates.contract import Case, Right, matching
from fivegates.errors import ContractError

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
    assert found.actual == (wrong if np.isfinite(wrong) else str(wrong))
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_oracle_that_is_not_finite_is_refused(triad, value):
    """Unless the contract says what becomes of NaN and infinity."""
    arrays = {name: np.full(4, value, np.float32) for name in ("x", "z")}
    with pytest.raises(ContractError, match="is not finite"):
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


@given(st.lists(st.integers(0, 5), max_size=12), st.data())
def test_equal_elements_belong_together_and_the_rest_stays(values, data):
    found = np.float32(data.draw(st.permutations(values)))
    right = np.sort(np.float64(values))
    assert np.array_equal(found[matching(found, right)], right)
    if values:
        found[data.draw(st.integers(0, len(values) - 1))] = data.draw(
            st.sampled_from([-1.0, 2.5, np.nan, 9.0])
        )
        chosen = matching(found, right)
        assert sorted(chosen) == list(range(len(values)))
        assert (found[chosen] != right).sum() == 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_unwritten_element_of_many_in_any_order_is_told_as_that(dtype):
    values = np.arange(1.0, 51.0)
    right = Right(values=values, magnitude=values, dtype=dtype, unordered=True)
    output = values[::-1].astype(dtype)
    output.view(np.uint16)[-2 if dtype == "float32" else -1 :] = 0xFFFF
    found = judged(output, right, Tolerance(atol=0.0, rtol=0.0))
    assert (found.failures, found.unwritten, found.first_failure) == (1, 1, 0)


def test_outputs_that_hold_the_same_in_another_order_are_compared_once():
    values = np.arange(1.0, 6.0)
    free = Right(values=values, magnitude=values, unordered=True)
    fixed = Right(values=values, magnitude=values)
    one, other = values.astype(np.float32), values[::-1].astype(np.float32)
    wrong = np.float32([1, 2, 3, 4, 4])
    found = distinct([one, other, wrong, wrong[::-1]], free)
    assert found[0] is one
    assert found[1] is wrong
    assert len(found) == 2
    assert len(distinct([one, other], fixed)) == 2
