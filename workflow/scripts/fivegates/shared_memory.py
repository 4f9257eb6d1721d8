"""Launches that fill a device's shared memory.

A block that does not set it finds what another has left there, or zeros by chance. What
a fill leaves does not outlive a kernel of another process.
"""

from collections.abc import Callable
from pathlib import Path

from cupy.cuda import Device, runtime

from fivegates.arm import Argument, Launch
from fivegates.job import SHARED_FILLS
from fivegates.launch import Kernel, compile_source

SOURCE = Path(__file__).with_name("shared_memory.cu")
ENTRY = "fivegates_fill_shared"
THREADS = 1024
WORD_BYTES = 4


def shared_fills() -> tuple[Callable[[], None], ...]:
    """A launch for each of SHARED_FILLS, on every multiprocessor of the device.

    A block asks for as much shared memory as there is, so that no two are on one
    multiprocessor.
    """
    device = Device()
    built = compile_source(
        SOURCE.read_text(),
        name=SOURCE.name,
        entry=ENTRY,
        options=(),
        architecture=f"sm_{device.compute_capability}",
    )
    kernel = Kernel(built.cubin, built.symbol, most_shared=True)
    size = device.attributes["MaxSharedMemoryPerBlockOptin"]
    grid = (device.attributes["MultiProcessorCount"], 1, 1)
    fills = tuple(
        kernel.bound(_launch(grid, size, byte), pointers={}) for byte in SHARED_FILLS
    )
    # A failure here is not one of the kernel that comes after.
    fills[0]()
    runtime.deviceSynchronize()
    return fills


def _launch(grid: tuple[int, int, int], size: int, byte: int) -> Launch:
    words = (size // WORD_BYTES, int.from_bytes([byte] * WORD_BYTES))
    return Launch(
        grid=grid,
        block=(THREADS, 1, 1),
        dynamic_shared_bytes=size,
        arguments=tuple(
            Argument(kind="scalar", name="uint32", value=word) for word in words
        ),
    )
