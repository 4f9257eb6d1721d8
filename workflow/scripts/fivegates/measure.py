"""One timing session on the device: both arms in one process, by a plan made before.

What is drawn when a graph is made is drawn anew in each round; input values at the
same pointers change between rounds; outputs are poisoned before and checked after each
block. Nothing here decides: raw samples and facts go back to the caller.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np

from fivegates.arm import Launch
from fivegates.claim import TimingPolicy, Tolerance
from fivegates.contract import Arrays
from fivegates.held_queue import HeldQueue, harness_module
from fivegates.job import POISON_BYTE
from fivegates.launch import Kernel
from fivegates.session import MAIN_ROLES, RoundPlan, Sample
from fivegates.trial import ValueSet

CHECK_BLOCKS = 1024
CHECK_THREADS = 256
# Nanoseconds: events step by tens of them.
EVENT_DECIMALS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedArm:
    """A kernel on the device and its launch at the timed sizes."""

    kernel: Kernel
    launch: Launch


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a session brings back, unjudged."""

    samples: tuple[Sample, ...]
    facts: Mapping[str, Any]


class Buffers:
    """Operands of every slot, and sets of values to redraw them from.

    There is one more set than there are slots, so every pointer sees new values in each
    round, also with a single slot.
    """

    def __init__(self, sets: Sequence[ValueSet]) -> None:
        """Upload (inputs, expected) sets; all but the last get a slot."""
        self._inputs = [_on_device(inputs) for inputs, _ in sets]
        self._expected = [_on_device(expected) for _, expected in sets]
        template_in, template_out = self._inputs[0], self._expected[0]
        dtype = next(iter(template_in.values())).dtype
        self.slots = [
            {name: cupy.empty_like(array) for name, array in template_in.items()}
            | {name: cupy.empty(a.shape, dtype) for name, a in template_out.items()}
            for _ in sets[1:]
        ]
        self._outputs = tuple(template_out)
        self._round = 0

    def pointers(self, slot: int) -> dict[str, int]:
        """Device addresses of one slot's operands."""
        return {name: array.data.ptr for name, array in self.slots[slot].items()}

    def redraw(self, number: int) -> None:
        """Give every slot the values of another set."""
        self._round = number
        for slot, operands in enumerate(self.slots):
            for name, values in self._inputs[self._set(slot)].items():
                operands[name][...] = values

    def poison(self) -> None:
        """Fill every output with 0xff bytes."""
        for operands in self.slots:
            for name in self._outputs:
                array = operands[name]
                array.data.memset_async(
                    POISON_BYTE, array.nbytes, cupy.cuda.get_current_stream()
                )

    def failures(self, count: Any, tolerance: Tolerance) -> int:
        """Elements outside the tolerance, over the outputs of all slots."""
        total = cupy.zeros(1, np.uint64)
        for slot, operands in enumerate(self.slots):
            for name, expected in self._expected[self._set(slot)].items():
                count(
                    (CHECK_BLOCKS,),
                    (CHECK_THREADS,),
                    (
                        operands[name],
                        expected,
                        np.uint64(expected.size),
                        np.float64(tolerance.atol),
                        np.float64(tolerance.rtol),
                        total,
                    ),
                )
        return int(total[0])

    def _set(self, slot: int) -> int:
        return (slot + self._round) % len(self._inputs)


class Session:
    """One process's measurement of two arms."""

    def __init__(
        self,
        *,
        arms: Mapping[str, LoadedArm],
        values: Sequence[ValueSet],
        tolerance: Tolerance,
        policy: TimingPolicy,
    ) -> None:
        """Put everything on the device that the rounds will use."""
        module = harness_module()
        self._queue = HeldQueue(module, policy.samples)
        self._nothing = module.get_function("nothing")
        self._count = module.get_function("count_failures")
        self._arms = {**arms, "again": arms["baseline"]}
        self._tolerance = tolerance
        self._policy = policy
        self._samples: list[Sample] = []
        self._expired = 0
        self._checked = 0
        self._failed = dict.fromkeys(self._arms, 0)
        with self._queue.stream:
            self._buffers = Buffers(values)
            self._queue.stream.synchronize()
        self._slots = len(self._buffers.slots)

    def run(self, rounds: Sequence[RoundPlan]) -> Outcome:
        """Warm up, choose the launches of a graph, then measure by the plan."""
        with self._queue.stream:
            self._buffers.redraw(0)
            warmup = min(self._warm_up(role) for role in MAIN_ROLES)
            launches = self._launches_per_graph()
            for step in rounds:
                self._measure_round(step, launches)
        return Outcome(
            samples=tuple(self._samples),
            facts={
                "launches_per_graph": launches,
                "warmup_launches": warmup,
                "expired_blocks": self._expired,
                "checked_slots": self._checked,
                "failed_elements": self._failed,
            },
        )

    def _submit(self, role: str, launches: int) -> None:
        arm = self._arms[role]
        for index in range(launches):
            pointers = self._buffers.pointers(index % self._slots)
            arm.kernel(arm.launch, pointers, self._queue.stream)

    def _submit_nothing(self, role: str, launches: int) -> None:
        launch = self._arms[role].launch
        for _ in range(launches):
            self._nothing(launch.grid, launch.block, (), stream=self._queue.stream)

    def _warm_up(self, role: str) -> int:
        """Launch for a time, at least the declared count, twice through all slots."""
        minimum = max(self._policy.warmup_launches, 2 * self._slots)
        deadline = time.monotonic() + self._policy.warmup_s
        done = 0
        while done < minimum or time.monotonic() < deadline:
            self._submit(role, 2 * self._slots)
            self._queue.stream.synchronize()
            done += 2 * self._slots
        return done

    def _launches_per_graph(self) -> int:
        """Whole rotations of the slots that keep the baseline busy for `graph_us`."""
        elapsed, _ = self._queue.elapsed_us(
            lambda: self._submit("baseline", self._slots), 1
        )
        return self._slots * max(1, math.ceil(self._policy.graph_us / elapsed[0]))

    def _measure_round(self, step: RoundPlan, launches: int) -> None:
        empty = step.comparison == "floor"
        submit = self._submit_nothing if empty else self._submit
        self._buffers.redraw(step.round)
        graphs = {
            role: self._queue.capture(partial(submit, role, launches))
            for role in step.captures
        }
        for block, role in enumerate(step.blocks):
            if not empty:
                self._buffers.poison()
            self._measure_block(step, block, role, graphs[role], launches)
            if not empty:
                self._check(role)

    def _measure_block(
        self, step: RoundPlan, block: int, role: str, graph: Any, launches: int
    ) -> None:
        self._queue.stream.synchronize()
        elapsed, expired = self._queue.elapsed_us(
            lambda: graph.launch(self._queue.stream), self._policy.samples
        )
        self._expired += expired
        self._samples += [
            Sample(
                comparison=step.comparison,
                round=step.round,
                block=block,
                role=role,
                sample=index,
                launches=launches,
                elapsed_us=round(value, EVENT_DECIMALS),
            )
            for index, value in enumerate(elapsed)
        ]

    def _check(self, role: str) -> None:
        self._failed[role] += self._buffers.failures(self._count, self._tolerance)
        self._checked += self._slots


def _on_device(arrays: Arrays) -> dict[str, Any]:
    return {name: cupy.asarray(array) for name, array in arrays.items()}
