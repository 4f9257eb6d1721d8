"""What gate 3 counts as wrong: elements, ordered or not, and beside a view."""

import numpy as np
import pytest

from fivegates.claim import Tolerance
from fivegates.contract import DTYPES, Right
from fivegates.layout import Layout

pytestmark = pytest.mark.gpu
VALUES = np.arange(1.0, 201.0)
EVERY_SECOND = Layout(shape=(10, 20), start=1, strides=(45, 2))


@pytest.fixture(scope="module")
def count():
    """Wrong elements in an allocation, as the harness counts them."""
    import cupy

    from fivegates.buffers import Buffers
    from fivegates.held_queue import HeldQueue

    queue = HeldQueue(1)

    def count(right, allocation):
        sets = [({}, {"y": right})] * 2
        names = (f"count_failures_{right.dtype}", f"count_unordered_{right.dtype}")
        with queue.stream:
            exact = Tolerance(atol=0.0, rtol=0.0)
            buffers = Buffers(sets, 1, queue.stream, exact)
            buffers.place(0, 0)
            buffers.slots[0]["y"][...] = cupy.asarray(allocation.view(np.uint8))
            total = cupy.zeros(1, np.uint64)
            kernels = {name: queue.module.get_function(name) for name in names}
            buffers.count_failures(kernels, total.data.ptr, 0, 0)
            return int(total.get()[0])

    return count


def right(dtype, **changes):
    return Right(values=VALUES, magnitude=VALUES, dtype=dtype, **changes)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_wrong_element_is_counted(count, dtype):
    output = VALUES.astype(dtype)
    assert count(right(dtype), output) == 0
    output[[3, 199]] = 0
    assert count(right(dtype), output) == 2
    output.view(np.uint8)[:] = 0xFF
    assert count(right(dtype), output) == 200


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_may_lie_in_any_order_where_the_contract_says_so(count, dtype):
    unordered = right(dtype, unordered=True)
    output = VALUES[::-1].astype(dtype)
    assert count(unordered, output) == 0
    output[0] = output[1]
    assert count(unordered, output) == 1
    output.view(np.uint8)[:] = 0xFF
    assert count(unordered, output) == 1


@pytest.mark.parametrize("unordered", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_write_beside_a_view_is_counted(count, dtype, unordered):
    view = right(dtype, layout=EVERY_SECOND, unordered=unordered)
    allocation = EVERY_SECOND.laid_out(VALUES.astype(dtype))
    assert count(view, allocation) == 0
    allocation[2] = 0
    assert count(view, allocation) == 1
    allocation[1] = 7
    assert count(view, allocation) == (1 if unordered else 2)
