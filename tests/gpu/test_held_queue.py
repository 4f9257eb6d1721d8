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

    from fivegates.held_queue import HeldQueue

    queue = HeldQueue(50)
    kernel = cupy.RawModule(code=WORK).get_function("work")
    output = cupy.empty(32, np.float32)

    def submit(rounds):
        kernel((1,), (32,), (output, np.uint32(rounds)), stream=queue.stream)

    submit(1)
    queue.stream.synchronize()
    return queue, submit


def median(queue, submit, samples=50):
    timed = queue.block(lambda _: submit(), samples)
    assert not timed.expired
    return float(np.median(timed.elapsed_us))


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

    def too_slowly(_):
        time.sleep(0.02)
        submit(1)

    assert queue.block(too_slowly, 3).expired
    monkeypatch.undo()
    assert not queue.block(lambda _: submit(1), 3).expired


def test_clock_of_a_block_is_the_one_that_nvml_reads(bench):
    from fivegates import nvml
    from fivegates.device import current_uuid

    queue, submit = bench
    timed = queue.block(lambda _: submit(200_000), 50)
    with nvml.device(current_uuid()) as handles:
        read = nvml.read_state(handles, 0.0).sm_clock_mhz
    assert timed.sm_clock_mhz == pytest.approx(read, rel=0.02)
    assert 0 < timed.end_s - timed.begin_s < 1


def test_host_clock_holds_the_submission(bench):
    from fivegates.held_queue import HostClock

    queue, submit = bench

    def slowly(_):
        time.sleep(0.002)
        submit(10)

    timed = HostClock(queue).block(slowly, 5, lead_in=2)
    assert len(timed.elapsed_us) == 5
    assert min(timed.elapsed_us) > 2000
