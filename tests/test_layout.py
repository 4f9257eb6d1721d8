import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.lib.stride_tricks import as_strided

from fivegates.claim import Tolerance
from fivegates.comparison import judged_in_place, worst
from fivegates.contract import Right
from fivegates.errors import ClaimError
from fivegates.layout import Layout, row_major

EXACT = Tolerance(atol=0.0, rtol=0.0)
# base[:, ::2] of a 3x8 array, from its second element on.
EVERY_SECOND = Layout(shape=(3, 4), start=1, strides=(8, 2))


@st.composite
def nested(draw):
    """Layouts whose strides grow with a gap each, in any order of the axes."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    strides, reach = [], 0
    for size in sizes:
        stride = reach + draw(st.integers(1, 3))
        strides.append(stride)
        reach += max(size - 1, 0) * stride
    order = draw(st.permutations(range(len(sizes))))
    return Layout(
        shape=tuple(sizes[axis] for axis in order),
        start=draw(st.integers(0, 5)),
        strides=tuple(strides[axis] for axis in order),
    )


@given(nested())
def test_array_is_found_where_numpy_would_find_it(layout):
    layout.require_apart("y")
    values = np.arange(np.prod(layout.shape), dtype=np.float32).reshape(layout.shape)
    allocation = layout.laid_out(values)
    assert allocation.size == layout.extent
    bytes_apart = [4 * stride for stride in layout.strides]
    seen = as_strided(allocation[layout.start :], layout.shape, bytes_apart)
    assert np.array_equal(seen, values)
    assert np.array_equal(allocation[layout.places()], values.ravel())
    assert np.isnan(allocation).sum() == allocation.size - values.size


def test_what_lies_beside_a_view_is_poison():
    allocation = EVERY_SECOND.laid_out(np.zeros((3, 4), np.int32))
    assert allocation.tolist() == [
        *(-1, 0, -1, 0, -1, 0, -1, 0, -1),
        *(0, -1, 0, -1, 0, -1, 0, -1),
        *(0, -1, 0, -1, 0, -1, 0),
    ]


def test_whole_array_is_itself():
    layout = Layout(shape=(2, 3), start=0, strides=row_major((2, 3)))
    array = np.arange(6.0).reshape(2, 3)
    assert layout.is_whole
    assert np.shares_memory(layout.laid_out(array), array)


@pytest.mark.parametrize(
    ("start", "strides", "message"),
    [
        (
            0,
            (3, 1),
            "views gives y strides (3, 1) for shape (3, 4): elements overlap, "
            "expected a place of its own for each",
        ),
        (
            0,
            (0, 1),
            "views gives y strides (0, 1) for shape (3, 4): elements overlap, "
            "expected a place of its own for each",
        ),
        (
            0,
            (4,),
            "views gives y start 0 and strides (4,), expected none below 0 and one "
            "stride for each axis of (3, 4)",
        ),
        (
            -1,
            (4, 1),
            "views gives y start -1 and strides (4, 1), expected none below 0 and one "
            "stride for each axis of (3, 4)",
        ),
        (
            9,
            (4, -1),
            "views gives y start 9 and strides (4, -1), expected none below 0 and one "
            "stride for each axis of (3, 4)",
        ),
    ],
)
def test_elements_without_a_place_of_their_own_are_refused(start, strides, message):
    with pytest.raises(ClaimError) as raised:
        Layout(shape=(3, 4), start=start, strides=strides).require_apart("y")
    assert str(raised.value) == message


def test_write_beside_a_view_is_counted_and_the_values_are_compared():
    values = np.arange(12.0)
    right = Right(values=values, magnitude=values, layout=EVERY_SECOND)
    allocation = EVERY_SECOND.laid_out(values.astype(np.float32))
    clean = judged_in_place(allocation, right, EXACT)
    assert (clean.elements, clean.failures, clean.beside) == (12, 0, 0)
    allocation[[0, 2]] = 0.0
    stray = judged_in_place(allocation, right, EXACT)
    assert (stray.failures, stray.beside) == (0, 2)
    assert worst([clean, stray]) is stray
    allocation[3] = 7.0
    wrong = judged_in_place(allocation, right, EXACT)
    assert (wrong.failures, wrong.first_failure, wrong.beside) == (1, 1, 2)
