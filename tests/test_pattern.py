"""What a failure looks like, from its positions and from the sizes it has."""

from dataclasses import asdict

import numpy as np
import pytest

from fivegates.claim import Tolerance
from fivegates.comparison import compare
from fivegates.pattern import places, right_and_wrong, wrong_values

EXACT = Tolerance(atol=0.0, rtol=0.0)


def failing(positions, size=4096):
    actual = np.zeros(size, np.float32)
    actual[positions] = 1
    return asdict(compare(actual, np.zeros(size), EXACT))


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        ([4093, 4094, 4095], "; they are the last 3"),
        (np.arange(256, 512), "; they are all from 256 to 511"),
        (np.arange(7, 4096, 32), "; they are every 32nd element up to 4071"),
        (np.arange(0, 4096, 11), "; they are every 11th element up to 4092"),
        ([5], ""),
        ([5, 7, 8], ""),
        (np.arange(4096), ""),
    ],
)
def test_positions_that_follow_a_pattern_are_told(positions, said):
    assert places(failing(positions)) == said


def test_record_of_before_has_no_pattern():
    old = failing([1, 2, 3])
    for field in ("last_failure", "stride", "allowed"):
        del old[field]
    assert places(old) == ""


def case(n, failures=0, error=None, distinct=1, generator="ordinary"):
    return {
        "generator": generator,
        "sizes": {"n": n, "m": 3},
        "outputs": {"y": {"failures": failures}},
        "error": error,
        "distinct_outputs": distinct,
    }


def test_sizes_are_told_apart():
    cases = [case(1), case(255, failures=2), case(256), case(255), case(7, distinct=2)]
    cases += [case(n) for n in range(300, 306)]
    assert right_and_wrong(cases) == (
        "; wrong at m=3 n=255, m=3 n=7, right at m=3 n=1, m=3 n=256, m=3 n=300, "
        "m=3 n=301, m=3 n=302, m=3 n=303 and 2 more"
    )


def test_values_are_told_apart_at_like_sizes():
    cases = [case(1), case(7), case(7, failures=1, generator="large")]
    cases += [case(9, generator="tiny"), case(7, generator="tiny")]
    assert wrong_values(cases, {"n": 7, "m": 3}) == (
        "; at m=3 n=7 wrong with large, right with ordinary, tiny"
    )
    assert wrong_values(cases, {"n": 9, "m": 3}) == ""


def test_nothing_to_tell_where_all_sizes_are_alike():
    assert right_and_wrong([case(1, failures=1), case(2, error="x")]) == ""
    assert right_and_wrong([case(1), case(2)]) == ""
