"""No host lies in an interval, twice the work takes twice the time, a hold ends."""

import time
from functools import partial

import numpy as np
import pytest

pytestmark = pytest.mark.gpu
WORK = r"""
extern "C" __global__ void work(float* y, unsigned rounds) {
    float value = threadIdx.x;
    for (unsigned k = 0; k < rounds; ++k) value = fmaf(value, 0.999f, 0.5f);
    y[threadIdx.x] = value;
}
"""


@pytest.fixture(scope="module")
def bench():
    """A held queue and counted dependent work, loaded before anything is held."""
    import cupy

    from fivegates.held_queue import HeldQueue, harness_module

    queue = HeldQueue(harness_module(), 50)
    kernel = cupy.RawModule(code=WORK).get_function("work")
    output = cupy.empty(32, np.float32)

    def submit(rounds):
        kernel((1,), (32,), (output, np.uint32(rounds)), stream=queue.stream)

    submit(1)
    queue.stream.synchronize()
    return queue, submit


def median(queue, submit, samples=50):
    elapsed, expired = queue.elapsed_us(submit, samples)
    assert not expired
    return float(np.median(elapsed))


def test_slow_host_does_not_enter_any_interval(bench):
    queue, submit = bench

    def slowly():
        time.sleep(0.002)
        submit(10_000)

    fast = median(queue, partial(submit, 10_000))
    assert median(queue, slowly) == pytest.approx(fast, rel=0.05)


def test_twice_the_work_takes_twice_the_time(bench):
    queue, submit = bench
    empty, once, twice = (
        median(queue, partial(submit, rounds)) for rounds in (0, 20_000, 40_000)
    )
    assert (twice - empty) / (once - empty) == pytest.approx(2, rel=0.02)


def test_graph_of_launches_costs_less_a_launch_than_one(bench):
    queue, submit = bench
    graph = queue.capture(lambda: [submit(100) for _ in range(24)])
    alone = median(queue, partial(submit, 100))
    assert median(queue, lambda: graph.launch(queue.stream)) / 24 < alone


def test_hold_that_gives_up_says_so(bench, monkeypatch):
    """corpus D07"""
    queue, submit = bench
    monkeypatch.setattr("fivegates.held_queue.HOLD_LIMIT_NS", 5_000_000)

    def too_slowly():
        time.sleep(0.02)
        submit(1)

    _, expired = queue.elapsed_us(too_slowly, 3)
    assert expired
    monkeypatch.undo()
    _, expired = queue.elapsed_us(partial(submit, 1), 3)
    assert not expired
