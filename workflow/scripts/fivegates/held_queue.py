"""Times work on the device alone: a stream is held, filled, then released.

A one-thread kernel holds the stream while the host queues event, work, event for every
sample; then the host lets go, and no host activity lies inside any interval. CUDA
Runtime API: event timestamps have a resolution of about 0.5 us or better.
"""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

HOST_ALLOC_MAPPED = 2
HOLD_LIMIT_NS = 2_000_000_000
SOURCE = Path(__file__).with_name("harness.cu")
# %smid may count more multiprocessors than the device has enabled.
CLOCK_ROWS = 1024

Submit = Callable[[int], None]


def harness_module() -> Any:
    """The harness's own kernels, compiled for the current device."""
    return cupy.RawModule(code=SOURCE.read_text(), options=("--std=c++17",))


def nothing(_: int) -> None:
    """What a block does around its samples unless it is told otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedBlock:
    """Microseconds of each sample; times of the host's monotonic clock in seconds."""

    elapsed_us: tuple[float, ...]
    begin_s: float
    end_s: float
    sm_clock_mhz: float | None
    expired: bool


class SmClock:
    """Mean SM clock between two readings of cycles and nanoseconds on the device."""

    def __init__(self, module: Any) -> None:
        """Map memory for two readings of every multiprocessor."""
        self._read = module.get_function("read_clocks")
        self._multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        size = 2 * CLOCK_ROWS * 2 * 8
        self._address = runtime.hostAlloc(size, HOST_ALLOC_MAPPED)
        buffer = (ctypes.c_uint64 * (size // 8)).from_address(self._address)
        self._readings = np.ctypeslib.as_array(buffer).reshape(2, CLOCK_ROWS, 2)

    def read(self, which: int, stream: Any) -> None:
        """Queue reading 0 or 1."""
        address = self._address + which * CLOCK_ROWS * 16
        grid = (self._multiprocessors,)
        self._read(grid, (1,), (np.uint64(address),), stream=stream)

    def clear(self) -> None:
        """Forget both readings."""
        self._readings[:] = 0

    def mhz(self) -> float | None:
        """Over multiprocessors that were seen twice; None without any."""
        before, after = self._readings
        seen = (before[:, 1] > 0) & (after[:, 1] > before[:, 1])
        cycles, nanoseconds = (after - before)[seen].sum(axis=0).tolist()
        return round(1e3 * cycles / nanoseconds, 3) if nanoseconds else None


class HeldQueue:
    """A non-blocking stream with a hold in front, and event pairs for the samples.

    One a process: with a second stream in use each launch of a graph takes longer.
    """

    def __init__(self, samples: int) -> None:
        """Allocate the flag (mapped host memory) and `samples` event pairs.

        The kernels of the queue itself run once, so that none is loaded later.
        """
        self.module = module = harness_module()
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.clock = SmClock(module)
        self._hold = module.get_function("hold")
        self._address = runtime.hostAlloc(64, HOST_ALLOC_MAPPED)
        self._released = ctypes.c_int.from_address(self._address)
        self._expired = ctypes.c_int.from_address(self._address + 4)
        self._events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(samples)]
        self.clock.read(0, self.stream)
        self._queue_hold()
        self._released.value = 1
        self.stream.synchronize()

    def block(
        self,
        submit: Submit,
        samples: int,
        before: Submit = nothing,
        after: Submit = nothing,
        lead_in: int = 1,
    ) -> TimedBlock:
        """Time `samples` submissions; `before` and `after` each lie outside.

        Submissions below 0 lead in, unmeasured, so that the first sample too follows
        work of its own kind. Everything submitted must have run once before: loading a
        module behind a held stream would wait for ever.
        """
        pairs = self._events[:samples]
        self.clock.clear()
        self._queue_hold()
        self.clock.read(0, self.stream)
        for index in range(-lead_in, 0):
            before(index)
            submit(index)
            after(index)
        for index, (start, stop) in enumerate(pairs):
            before(index)
            start.record(self.stream)
            submit(index)
            stop.record(self.stream)
            after(index)
        self.clock.read(1, self.stream)
        begin = time.monotonic()
        self._released.value = 1
        self.stream.synchronize()
        return TimedBlock(
            elapsed_us=tuple(
                1e3 * float(cupy.cuda.get_elapsed_time(start, stop))
                for start, stop in pairs
            ),
            begin_s=begin,
            end_s=time.monotonic(),
            sm_clock_mhz=self.clock.mhz(),
            expired=bool(self._expired.value),
        )

    def _queue_hold(self) -> None:
        self._released.value = self._expired.value = 0
        address = self._address
        self._hold(
            (1,),
            (1,),
            (np.uint64(address), np.uint64(address + 4), np.uint64(HOLD_LIMIT_NS)),
            stream=self.stream,
        )

    def capture(self, submit: Callable[[], None]) -> Any:
        """A new graph of what `submit` queues on the stream, run once to load it."""
        self.stream.begin_capture()
        submit()
        graph = self.stream.end_capture()
        graph.launch(self.stream)
        self.stream.synchronize()
        return graph


class HostClock:
    """Times from the host's call to the completion it sees, one at a time."""

    def __init__(self, queue: HeldQueue) -> None:
        """Use the stream and the clock readings of `queue`."""
        self._queue = queue

    def block(
        self,
        submit: Submit,
        samples: int,
        before: Submit = nothing,
        after: Submit = nothing,
        lead_in: int = 1,
    ) -> TimedBlock:
        """As `HeldQueue.block`, by the host's clock and with an idle device before."""
        queue, elapsed = self._queue, []
        queue.clock.clear()
        queue.clock.read(0, queue.stream)
        queue.stream.synchronize()
        begin = time.monotonic()
        for index in range(-lead_in, samples):
            before(index)
            queue.stream.synchronize()
            start = time.perf_counter_ns()
            submit(index)
            queue.stream.synchronize()
            elapsed.append((time.perf_counter_ns() - start) / 1e3)
            after(index)
        queue.clock.read(1, queue.stream)
        queue.stream.synchronize()
        return TimedBlock(
            elapsed_us=tuple(elapsed[lead_in:]),
            begin_s=begin,
            end_s=time.monotonic(),
            sm_clock_mhz=queue.clock.mhz(),
            expired=False,
        )
