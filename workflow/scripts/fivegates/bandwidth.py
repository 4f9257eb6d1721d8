"""The bandwidth probe: device-to-device copies of two sizes, each one checked."""

from typing import Any

import cupy
from cupy.cuda import runtime

from fivegates.held_queue import HeldQueue

SIZES_BYTES = (256 << 20, 512 << 20)
SAMPLES = 10


def measure_copies() -> list[dict[str, Any]]:
    """Microseconds of copies of each size; a copy moves twice its size in bytes."""
    queue = HeldQueue(SAMPLES)
    with queue.stream:
        return [_measure(queue, size) for size in SIZES_BYTES]


def _measure(queue: HeldQueue, size: int) -> dict[str, Any]:
    source = cupy.arange(size // 4, dtype=cupy.uint32)
    target = cupy.empty_like(source)

    def copy(_: int) -> None:
        runtime.memcpyAsync(
            target.data.ptr,
            source.data.ptr,
            size,
            runtime.memcpyDeviceToDevice,
            queue.stream.ptr,
        )

    copy(0)
    target.fill(0)
    queue.stream.synchronize()
    timed = queue.block(copy, SAMPLES)
    verified = not timed.expired and bool((source == target).all())
    return {
        "size_bytes": size,
        "elapsed_us": list(timed.elapsed_us),
        "verified": verified,
    }
