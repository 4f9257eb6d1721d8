import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fivegates.rounding import differences, rounded

finite = st.floats(1e-30, 1e30)


@given(finite)
def test_recorded_value_agrees_with_what_it_was_rounded_from(value):
    assert not list(differences(rounded(value), value))


@given(finite)
def test_last_bit_of_another_machine_is_forgiven(value):
    assert not list(differences(rounded(value), math.nextafter(value, math.inf)))


@example(6.103515625e-05, 9, 1)
@given(finite, st.integers(1, 9), st.sampled_from([-1, 1]))
def test_any_recorded_digit_that_changes_is_found(value, digits, sign):
    recorded = rounded(value)
    last = 10.0 ** (math.floor(math.log10(recorded)) - 8)
    # In the middle between two records both of them are right.
    assume(abs(value - recorded) < 0.499 * last)
    unit = 10.0 ** (math.floor(math.log10(recorded)) + 1 - digits)
    assert list(differences(recorded + sign * unit, value))


@pytest.mark.parametrize(
    ("recorded", "recomputed", "found"),
    [
        ({"a": {"b": 2.5}}, {"a": {"b": 1.5}}, "a.b is 2.5, expected 1.5"),
        ({"a": 1}, {}, "a is 1, expected no such field"),
        ({}, {"a": 1}, "a is missing, expected 1"),
        ({"a": [1, 2]}, {"a": [1]}, "a has 2 items, expected 1"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1] is 2, expected 3"),
        ({"a": True}, {"a": 1}, "a is True, expected 1"),
        ({"a": 1}, {"a": True}, "a is 1, expected True"),
        ({"a": True}, {"a": 1.0}, "a is True, expected 1.0"),
        ({"a": None}, {"a": 0.0}, "a is None, expected 0.0"),
        ({"a": 0.0}, {"a": 1e-300}, "a is 0.0, expected 1e-300"),
        ({"a": "x"}, {"a": "y"}, "a is 'x', expected 'y'"),
    ],
)
def test_difference_names_its_field(recorded, recomputed, found):
    assert list(differences(recorded, recomputed)) == [found]
