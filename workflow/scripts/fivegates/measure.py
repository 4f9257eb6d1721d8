"""One timing session on the device: both arms in one process, by a plan made before.

What is drawn when a thing is made (module, graph, place of the buffers) is drawn anew
in each round; values at the same pointers change between rounds; outputs are poisoned
inside each block and checked after it. Nothing here decides: raw samples and facts go
back to the caller.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np

from fivegates.arm import Launch
from fivegates.buffers import Buffers, Staging
from fivegates.claim import Kind, TimingPolicy, Tolerance
from fivegates.contract import DTYPES
from fivegates.held_queue import (
    HeldQueue,
    HostClock,
    Submit,
    TimedBlock,
    nothing,
)
from fivegates.launch import Kernel
from fivegates.plan import (
    PAIRED,
    ROLES_OF,
    Block,
    Round,
    Sample,
    Step,
    is_batched,
)
from fivegates.prepared import (
    HarnessKernels,
    Prepared,
    alone,
    batched,
    replayed,
    transferred,
)
from fivegates.trial import ValueSet
from fivegates.warmup import TraceRow, is_stable, launches_per_graph

# Nanoseconds: events step by tens of them.
EVENT_DECIMALS = 3
WARMUP_SAMPLES = 3
# A held stream takes about a thousand operations.
WARMUP_LAUNCHES = 128
BARE = ((1, 1, 1), (32, 1, 1))
# The others are timed on the device whatever the claim's boundary is.
TIMED_AT_BOUNDARY = (*PAIRED, "floor")


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A kernel as it was built, and its launch at the timed sizes."""

    cubin: bytes
    symbol: str
    launch: Launch


class Session:
    """One process's measurement of two arms."""

    def __init__(
        self,
        *,
        arms: Mapping[str, Image],
        values: Sequence[ValueSet],
        slots: int,
        tolerance: Tolerance,
        policy: TimingPolicy,
        kind: Kind,
        zero_s: float,
        queue: HeldQueue,
        batched: bool | None = None,
    ) -> None:
        """Put everything on the device that the rounds will use.

        `zero_s` is the monotonic time that blocks are counted from; `batched` says
        whether a sample is a graph of many launches, by rule of the kind unless given.
        """
        self.queue = queue
        self._count_failures = {
            name: queue.module.get_function(name)
            for dtype in DTYPES
            for name in (f"count_failures_{dtype}", f"count_unordered_{dtype}")
        }
        self._arms = {**arms, **dict.fromkeys(("again", "itself"), arms["baseline"])}
        self._policy, self.kind = policy, kind
        self.batched = is_batched(kind) if batched is None else batched
        self._slots, self._zero_s = slots, zero_s
        self._launches = 1
        self.samples: list[Sample] = []
        self.blocks: list[Block] = []
        self.trace: list[TraceRow] = []
        self._expired = 0
        stream = queue.stream
        with stream:
            self._buffers = Buffers(values, slots, stream, tolerance)
            self._buffers.place(0, 0)
            self._wrong = cupy.zeros(len(self._arms), np.uint64)
            self._load_check()
            stream.synchronize()
        self._harness = HarnessKernels(queue, self._swept_bytes())
        device_timed = kind.boundary in ("device", "graph")
        self._timer = self.queue if device_timed else HostClock(self.queue)
        ends = kind.boundary == "end-to-end"
        self._staging = Staging(self._buffers, stream) if ends else None

    def _load_check(self) -> None:
        """Run the check once and forget it, so that it is not loaded behind a hold."""
        self._checked = 0
        self._check("baseline", 0, 0)
        self._checked = 0
        self._wrong.fill(0)

    def _swept_bytes(self) -> int:
        """Twice the L2 and more, where the regime sweeps."""
        l2 = int(cupy.cuda.Device().attributes["L2CacheSize"])
        return 2 * l2 + 4096 if self.kind.cache_regime == "swept" else 4096

    def facts(self) -> dict[str, Any]:
        """What the session counted, after its rounds."""
        with self.queue.stream:
            counts = self._wrong.get().tolist()
        wrong = dict(zip(self._arms, counts, strict=True))
        wrong["baseline"] += wrong.pop("itself")
        baseline = [row.launches for row in self.trace if row.role == "baseline"]
        return {
            "slots": self._slots,
            "working_set_bytes": self._buffers.bytes,
            "swept_bytes": self._harness.swept_bytes,
            "warmup_launches": sum(baseline),
            "launches_per_graph": self._launches,
            "expired_blocks": self._expired,
            "checked_slots": self._checked,
            "failed_elements": wrong,
        }

    def is_clean(self) -> bool:
        """Whether every output was right so far and no hold gave up."""
        with self.queue.stream:
            return not (self._expired or int(self._wrong.get().sum()))

    def warm_up(self) -> None:
        """Launch both arms in turn until they are stable or the cap is reached.

        Then choose the launches of a graph. Modules are loaded before anything is held.
        """
        with self.queue.stream:
            kernels = {role: self._loaded(role) for role in ROLES_OF["main"]}
            begin = time.monotonic()
            step = 0
            while not is_stable(self.trace, self._policy):
                if time.monotonic() - begin > self._policy.warmup_cap_s:
                    break
                for role, submit in kernels.items():
                    self._warm_step(step, role, submit)
                step += 1
        if self.batched:
            self._launches = launches_per_graph(self.trace, self._slots, self._policy)

    def _warm_step(self, step: int, role: str, submit: Submit) -> None:
        launches = min(self._slots, WARMUP_LAUNCHES)

        def rotation(_: int) -> None:
            for slot in range(launches):
                submit(slot)

        timed = self.queue.block(rotation, WARMUP_SAMPLES)
        self._expired += timed.expired
        elapsed = float(np.median(timed.elapsed_us)) / launches
        self.trace.append(
            TraceRow(
                step=step,
                role=role,
                launches=(WARMUP_SAMPLES + 1) * launches,
                elapsed_us=round(elapsed, 2 * EVENT_DECIMALS),
                sm_clock_mhz=timed.sm_clock_mhz,
                end_s=round(timed.end_s - self._zero_s, 6),
            )
        )

    def run(self, rounds: Sequence[Round]) -> None:
        """Measure by the plan."""
        with self.queue.stream:
            for item in rounds:
                self._buffers.place(item.round, item.placement)
                if self._staging is not None:
                    self._staging.take()
                for step in item.steps:
                    self._measure(step)
            self.queue.stream.synchronize()

    def replay(self, role: str, times: int) -> None:
        """Run what a sample of an arm or of the bare floor submits, untimed."""
        with self.queue.stream:
            submit = self._empty(role) if role == "bare" else self._loaded(role)
            prepared = self._prepare(submit)
            for index in range(times):
                prepared.submit(index)
            self.queue.stream.synchronize()

    def _measure(self, step: Step) -> None:
        if step.comparison == "repeat":
            self._measure_repeats(step)
            return
        shared = self._loaded("baseline") if step.comparison == "self" else None
        made = {role: self._make(step, role, shared) for role in step.loads}
        timer = self._timer if step.comparison in TIMED_AT_BOUNDARY else self.queue
        checked = step.comparison in PAIRED
        for block, role in enumerate(step.blocks):
            poisoned = step.poisoned[block] if checked else None
            before = partial(self._before, poisoned)
            self._block(timer, step, block, made[role], before)
            if checked:
                self._check_slots(role)

    def _make(self, step: Step, role: str, shared: Submit | None) -> Prepared:
        """A role of a comparison, made anew; from one load where that is `shared`."""
        match step.comparison:
            case "control":
                return self._harness.control(role)
            case "floor":
                return self._prepare(self._empty(role))
            case "single":
                return alone(self._loaded(role))
        return self._prepare(shared or self._loaded(role))

    def _measure_repeats(self, step: Step) -> None:
        """Single launches on one slot, each on values copied in before and checked."""
        arms = sorted({role.partition("-")[0] for role in step.loads})
        kernels = {arm: self._loaded(arm) for arm in arms}
        slot = step.round % self._slots
        for block, role in enumerate(step.blocks):
            arm, _, values = role.partition("-")
            submit = kernels[arm]
            choose = partial(self._values, slot, fresh=values == "fresh")
            self._block(
                self.queue,
                step,
                block,
                alone(partial(_submit_slot, submit, slot)),
                before=partial(self._refill, slot, fresh=values == "fresh"),
                after=partial(_after_choice, partial(self._check, arm), choose, slot),
                lead_in=1,
            )
        self._buffers.fill(slot, self._buffers.set_of(slot))

    def _refill(self, slot: int, index: int, *, fresh: bool) -> None:
        """Copy both sets of values into a slot, the one to be timed last.

        Same and fresh values then find the same traffic behind them.
        """
        self._buffers.fill(slot, self._values(slot, index, fresh=not fresh))
        self._buffers.fill(slot, self._values(slot, index, fresh=fresh))

    def _values(self, slot: int, index: int, *, fresh: bool) -> int:
        buffers = self._buffers
        return buffers.fresh(slot, index) if fresh else buffers.set_of(slot)

    def _block(
        self,
        timer: HeldQueue | HostClock,
        step: Step,
        block: int,
        prepared: Prepared,
        before: Submit = nothing,
        after: Submit = nothing,
        lead_in: int | None = None,
    ) -> None:
        """One block.

        Single launches lead in through every slot: what was written to the cache before
        the block leaves it then, outside of the samples.
        """
        rotation = 1 if prepared.launches > 1 else self._slots
        self.queue.stream.synchronize()
        timed = timer.block(
            prepared.submit, step.samples, before, after, lead_in or rotation
        )
        self._keep(step, block, prepared.launches, timed)

    def _keep(self, step: Step, block: int, launches: int, timed: TimedBlock) -> None:
        role = step.blocks[block]
        self._expired += timed.expired
        self.blocks.append(
            Block(
                comparison=step.comparison,
                round=step.round,
                block=block,
                role=role,
                begin_s=round(timed.begin_s - self._zero_s, 6),
                end_s=round(timed.end_s - self._zero_s, 6),
                sm_clock_mhz=timed.sm_clock_mhz,
            )
        )
        self.samples += [
            Sample(
                comparison=step.comparison,
                round=step.round,
                block=block,
                role=role,
                sample=index,
                launches=launches,
                elapsed_us=round(value, EVENT_DECIMALS),
            )
            for index, value in enumerate(timed.elapsed_us)
        ]

    def _loaded(self, role: str) -> Submit:
        """A new load of a role's module, launched once so that nothing loads later."""
        image = self._arms[role]
        kernel = Kernel(image.cubin, image.symbol)
        stream = self.queue.stream
        launches = [
            kernel.bound(image.launch, self._buffers.pointers(slot), stream)
            for slot in range(self._slots)
        ]

        def submit(index: int) -> None:
            launches[index % self._slots]()

        submit(0)
        stream.synchronize()
        return submit

    def _empty(self, role: str) -> Submit:
        grid, block = BARE
        if role != "bare":
            grid, block = self._arms[role].launch.grid, self._arms[role].launch.block
        return self._harness.empty(grid, block)

    def _prepare(self, submit: Submit) -> Prepared:
        """What one sample of the session's boundary submits, and its launches."""
        if self.batched:
            return batched(self.queue, submit, self._launches)
        if self.kind.boundary == "graph":
            return replayed(self.queue, submit, self._slots)
        if self._staging is not None:
            return transferred(self._staging, submit, self._slots)
        return alone(submit)

    def _before(self, poisoned: int | None, index: int) -> None:
        """Poison what a drawn sample will write, then sweep where the regime does."""
        if poisoned == index:
            slots = range(self._slots)
            for slot in slots if self.batched else [index % self._slots]:
                self._buffers.poison(slot)
                if self._staging is not None:
                    self._staging.poison(slot)
        if self.kind.cache_regime == "swept":
            self._harness.sweep()

    def _check_slots(self, role: str) -> None:
        """Check every slot: the lead-in of single launches goes through all of them."""
        for slot in range(self._slots):
            if self._staging is not None:
                self._staging.put_back(slot)
            self._check(role, slot, self._buffers.set_of(slot))

    def _check(self, role: str, slot: int, values: int) -> None:
        place = list(self._arms).index(role)
        self._buffers.count_failures(
            self._count_failures,
            self._wrong.data.ptr + 8 * place,
            slot,
            values,
        )
        self._checked += 1


def _submit_slot(submit: Submit, slot: int, _: int) -> None:
    submit(slot)


def _after_choice(
    act: Callable[[int, int], None], choose: Callable[[int], int], slot: int, index: int
) -> None:
    act(slot, choose(index))
