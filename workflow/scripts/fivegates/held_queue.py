"""Times work on the device alone: a stream is held, filled, then released.

A one-thread kernel holds the stream while the host queues event, work, event for every
sample; then the host lets go, and no host activity lies inside any interval. CUDA
Runtime API: event timestamps have a resolution of about 0.5 us or better.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

HOST_ALLOC_MAPPED = 2
HOLD_LIMIT_NS = 2_000_000_000
SOURCE = Path(__file__).with_name("harness.cu")


def harness_module() -> Any:
    """The harness's own kernels, compiled for the current device."""
    return cupy.RawModule(code=SOURCE.read_text(), options=("--std=c++17",))


class HeldQueue:
    """A non-blocking stream with a hold in front, and event pairs for the samples."""

    def __init__(self, module: Any, samples: int) -> None:
        """Allocate the flag (mapped host memory) and `samples` event pairs."""
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self._hold = module.get_function("hold")
        self._address = runtime.hostAlloc(64, HOST_ALLOC_MAPPED)
        self._released = ctypes.c_int.from_address(self._address)
        self._expired = ctypes.c_int.from_address(self._address + 4)
        self._events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(samples)]

    def elapsed_us(
        self, submit: Callable[[], None], samples: int
    ) -> tuple[list[float], bool]:
        """Microseconds of `samples` submissions, and whether the hold gave up.

        One more submission leads in, unmeasured, so that the first sample too follows
        work of its own kind. Everything submitted must have run once before: loading a
        module behind a held stream would wait for ever.
        """
        pairs = self._events[:samples]
        self._released.value = self._expired.value = 0
        address = self._address
        self._hold(
            (1,),
            (1,),
            (np.uint64(address), np.uint64(address + 4), np.uint64(HOLD_LIMIT_NS)),
            stream=self.stream,
        )
        submit()
        for start, stop in pairs:
            start.record(self.stream)
            submit()
            stop.record(self.stream)
        self._released.value = 1
        self.stream.synchronize()
        elapsed = [
            1e3 * float(cupy.cuda.get_elapsed_time(start, stop))
            for start, stop in pairs
        ]
        return elapsed, bool(self._expired.value)

    def capture(self, submit: Callable[[], None]) -> Any:
        """A new graph of what `submit` queues on the stream, run once to load it."""
        self.stream.begin_capture()
        submit()
        graph = self.stream.end_capture()
        graph.launch(self.stream)
        self.stream.synchronize()
        return graph
