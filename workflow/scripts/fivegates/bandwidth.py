"""The bandwidth probe: device-to-device copies of two sizes, each one checked."""

from typing import Any

import cupy
from cupy.cuda import runtime

from fivegates.held_queue import HeldQueue, harness_module

SIZES_BYTES = (256 << 20, 512 << 20)
SAMPLES = 10


def measure_copies() -> list[dict[str, Any]]:
    """Microseconds of copies of each size; a copy moves twice its size in bytes."""
    queue = HeldQueue(harness_module(), SAMPLES)
    with queue.stream:
        return [_measure(queue, size) for size in SIZES_BYTES]


def _measure(queue: HeldQueue, size: int) -> dict[str, Any]:
    source = cupy.arange(size // 4, dtype=cupy.uint32)
    target = cupy.empty_like(source)

    def copy() -> None:
        runtime.memcpyAsync(
            target.data.ptr,
            source.data.ptr,
            size,
            runtime.memcpyDeviceToDevice,
            queue.stream.ptr,
        )

    copy()
    target.fill(0)
    queue.stream.synchronize()
    elapsed, expired = queue.elapsed_us(copy, SAMPLES)
    verified = not expired and bool((source == target).all())
    return {"size_bytes": size, "elapsed_us": elapsed, "verified": verified}
