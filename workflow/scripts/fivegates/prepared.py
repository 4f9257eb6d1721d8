"""What one sample submits: a graph of many launches, of one, a launch, with transfers.

And the harness's own kernels as such: nothing, counted work, a sweep of the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np

from fivegates.arm import Extent
from fivegates.buffers import Staging
from fivegates.held_queue import HeldQueue, Submit
from fivegates.plan import CONTROL_LAUNCHES

CONTROL_STEPS = {"none": 0, "once": 400, "twice": 800}
CONTROL_THREADS = 32
SWEEP_BLOCKS, SWEEP_THREADS = 1024, 256
VECTOR_BYTES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """What a sample submits, by its index, and how many launches that is.

    `module` is what must live as long: a graph does not keep the kernels it replays.
    """

    submit: Submit
    launches: int
    module: Any


def alone(submit: Submit) -> Prepared:
    """Single launches of what has been launched before."""
    return Prepared(submit=submit, launches=1, module=submit)


def batched(queue: HeldQueue, submit: Submit, launches: int) -> Prepared:
    """One graph of launches 0, 1, ... that a sample replays."""
    graph = queue.capture(partial(_each, submit, range(launches)))
    return Prepared(
        submit=lambda _: graph.launch(queue.stream), launches=launches, module=submit
    )


def replayed(queue: HeldQueue, submit: Submit, slots: int) -> Prepared:
    """A graph of one launch for each slot."""
    graphs = [queue.capture(partial(submit, slot)) for slot in range(slots)]
    return Prepared(
        submit=lambda index: graphs[index % slots].launch(queue.stream),
        launches=1,
        module=submit,
    )


def transferred(staging: Staging, submit: Submit, slots: int) -> Prepared:
    """A launch between the transfers of its inputs and of its outputs."""

    def both_ways(index: int) -> None:
        staging.upload(index % slots)
        submit(index)
        staging.download(index % slots)

    return Prepared(submit=both_ways, launches=1, module=submit)


def _each(submit: Submit, indices: Sequence[int]) -> None:
    for index in indices:
        submit(index)


class HarnessKernels:
    """Launches of the harness's own kernels on one queue, each run once before.

    CUDA loads a kernel at its first launch; behind a held stream that may wait for
    ever.
    """

    def __init__(self, queue: HeldQueue, swept_bytes: int) -> None:
        """Allocate what is swept, on the queue's stream."""
        self._queue, self._module = queue, queue.module
        with queue.stream:
            self._line = cupy.zeros((2, CONTROL_THREADS), np.float32)
            self._swept = cupy.zeros(swept_bytes // 4, np.uint32)
            self._sink = cupy.zeros(1, np.uint32)
        self.swept_bytes = int(self._swept.nbytes)
        self.sweep()

    def empty(self, grid: Extent, block: Extent) -> Submit:
        """An empty kernel of this grid."""
        function = self._module.get_function("nothing")

        def submit(_: int) -> None:
            function(grid, block, (), stream=self._queue.stream)

        submit(0)
        self._queue.stream.synchronize()
        return submit

    def control(self, role: str) -> Prepared:
        """Counted dependent work, in graphs of a fixed number of launches."""
        function = self._module.get_function("counted")
        steps = np.uint32(CONTROL_STEPS[role])
        arguments = (self._line[0], self._line[1], steps, np.uint32(0), np.float32(0))

        def submit(_: int) -> None:
            stream = self._queue.stream
            function((1,), (CONTROL_THREADS,), arguments, stream=stream)

        return batched(self._queue, submit, CONTROL_LAUNCHES)

    def sweep(self) -> None:
        """Read all that is there to be swept."""
        arguments = (self._swept, np.uint64(self.swept_bytes // VECTOR_BYTES))
        self._module.get_function("sweep")(
            (SWEEP_BLOCKS,),
            (SWEEP_THREADS,),
            (*arguments, self._sink),
            stream=self._queue.stream,
        )
