"""Operands on the device for timed launches: where they lie, what they hold.

All slots lie in one allocation. Their order and the first address are drawn anew for
each round, and every pointer sees new values.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from fivegates.claim import Tolerance
from fivegates.contract import DTYPES, Arrays, Right
from fivegates.job import POISON_BYTE
from fivegates.trial import ValueSet

# What cudaMalloc grants, and so what a kernel may expect of a pointer.
ALIGNMENT = 256
SLACK_BYTES = 8 << 20
CHECK_BLOCKS = 1024
CHECK_THREADS = 256


class Buffers:
    """Operands of every slot, and sets of values to redraw them from.

    There are more sets than slots, so every pointer sees new values in each round.
    """

    def __init__(
        self,
        sets: Sequence[ValueSet],
        slots: int,
        stream: Any,
        tolerance: Tolerance,
    ) -> None:
        """Upload (inputs, expected) sets and allocate the slots once."""
        self._inputs = [_on_device(inputs) for inputs, _ in sets]
        self._expected = [
            {name: _rule(right, tolerance) for name, right in expected.items()}
            for _, expected in sets
        ]
        inputs, expected = sets[0]
        self.inputs, self.outputs = tuple(inputs), tuple(expected)
        self._checks = {name: _check(right) for name, right in expected.items()}
        self._operands = {name: array.nbytes for name, array in inputs.items()}
        self._operands |= {
            name: right.extent * DTYPES[right.dtype] for name, right in expected.items()
        }
        self._count, self._stream = slots, stream
        self._arena = cupy.cuda.alloc(self.bytes + SLACK_BYTES)
        self.slots: list[Mapping[str, Any]] = []
        self._round = 0

    @property
    def bytes(self) -> int:
        """Bytes of all slots, each operand padded to the alignment."""
        sizes = self._operands.values()
        return self._count * sum(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)

    def place(self, number: int, seed: int) -> None:
        """Draw where the operands of every slot lie, and give each another set."""
        draw = random.Random(seed)  # noqa: S311 - a plan, no secret
        places = [
            (slot, name) for slot in range(self._count) for name in self._operands
        ]
        keys = [draw.random() for _ in places]
        offset = int(draw.random() * (SLACK_BYTES // ALIGNMENT)) * ALIGNMENT
        slots: list[dict[str, Any]] = [{} for _ in range(self._count)]
        for _, (slot, name) in sorted(zip(keys, places, strict=True)):
            place = self._arena + offset
            array = cupy.ndarray(self._operands[name], np.uint8, place)
            slots[slot][name] = array
            offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        self.slots, self._round = list(slots), number
        for slot in range(self._count):
            self.fill(slot, self.set_of(slot))
            self.poison(slot)

    def set_of(self, slot: int) -> int:
        """The set of values that a slot holds in this round."""
        return (slot + self._round) % len(self._inputs)

    def fresh(self, slot: int, index: int) -> int:
        """Another set of values for a slot, never the same for two indices in turn."""
        count = len(self._inputs)
        return (self.set_of(slot) + 1 + index % (count - 1)) % count

    def pointers(self, slot: int) -> dict[str, int]:
        """Device addresses of one slot's operands."""
        return {name: array.data.ptr for name, array in self.slots[slot].items()}

    def fill(self, slot: int, values: int) -> None:
        """Queue the copy of a set of values into a slot's inputs."""
        for name, array in self._inputs[values].items():
            runtime.memcpyAsync(
                self.slots[slot][name].data.ptr,
                array.data.ptr,
                array.nbytes,
                runtime.memcpyDeviceToDevice,
                self._stream.ptr,
            )

    def poison(self, slot: int) -> None:
        """Queue the fill of a slot's outputs with 0xff bytes."""
        for name in self.outputs:
            array = self.slots[slot][name]
            array.data.memset_async(POISON_BYTE, array.nbytes, self._stream)

    def count_failures(
        self, kernels: Mapping[str, Any], total: int, slot: int, values: int
    ) -> None:
        """Queue a check of a slot's outputs; wrong elements are added at `total`.

        `kernels` are the harness's, by name.
        """
        for name, (right, allowed) in self._expected[values].items():
            array = self.slots[slot][name]
            check, blocks = self._checks[name]
            kernels[check](
                (blocks,),
                (CHECK_THREADS,),
                (
                    np.uint64(array.data.ptr),
                    np.uint64(right.data.ptr),
                    np.uint64(allowed.data.ptr),
                    np.uint64(right.size),
                    np.uint64(total),
                ),
                stream=self._stream,
            )


class Staging:
    """Pinned host memory for the operands of every slot: what end-to-end transfers."""

    def __init__(self, buffers: Buffers, stream: Any) -> None:
        """Allocate as much on the host as the slots hold; needs placed buffers."""
        self._buffers, self._stream = buffers, stream
        self._host = [
            {name: _pinned(array.nbytes) for name, array in operands.items()}
            for operands in buffers.slots
        ]

    def take(self) -> None:
        """Copy every slot's inputs to the host."""
        for slot in range(len(self._host)):
            self._move(slot, self._buffers.inputs, runtime.memcpyDeviceToHost)
        self._stream.synchronize()

    def upload(self, slot: int) -> None:
        """Queue the transfer of a slot's inputs to the device."""
        self._move(slot, self._buffers.inputs, runtime.memcpyHostToDevice)

    def download(self, slot: int) -> None:
        """Queue the transfer of a slot's outputs to the host."""
        self._move(slot, self._buffers.outputs, runtime.memcpyDeviceToHost)

    def poison(self, slot: int) -> None:
        """Fill a slot's outputs on the host with 0xff bytes."""
        for name in self._buffers.outputs:
            self._host[slot][name][:] = POISON_BYTE

    def put_back(self, slot: int) -> None:
        """What arrived on the host goes back to the device, where it is checked."""
        self._move(slot, self._buffers.outputs, runtime.memcpyHostToDevice)

    def _move(self, slot: int, names: Sequence[str], kind: int) -> None:
        for name in names:
            device = self._buffers.slots[slot][name]
            host = self._host[slot][name].ctypes.data
            ends = (device.data.ptr, host)
            target, source = ends if kind == runtime.memcpyHostToDevice else ends[::-1]
            runtime.memcpyAsync(target, source, device.nbytes, kind, self._stream.ptr)


def _pinned(size: int) -> np.ndarray:
    memory = cupy.cuda.alloc_pinned_memory(size)
    return np.frombuffer(memory, np.uint8, size)


def _check(right: Right) -> tuple[str, int]:
    """The harness kernel that compares an output, and its blocks."""
    if right.unordered:
        return f"count_unordered_{right.dtype}", 1
    return f"count_failures_{right.dtype}", CHECK_BLOCKS


def _rule(right: Right, tolerance: Tolerance) -> tuple[Any, Any]:
    """What an output must be and the error that each element may have."""
    allowed = right.allowed(tolerance.atol, tolerance.rtol)
    return tuple(cupy.asarray(right.in_place(a)) for a in (right.values, allowed))


def _on_device(arrays: Arrays) -> dict[str, Any]:
    return {name: cupy.asarray(array.view(np.uint8)) for name, array in arrays.items()}
