"""Shared memory that is poison before a launch.

A block that does not set it finds what another has left there, or zeros by chance.
"""

from collections.abc import Callable
from pathlib import Path

from cupy.cuda import Device

from fivegates.arm import Argument, Launch
from fivegates.job import POISON_BYTE
from fivegates.launch import Kernel, compile_source

SOURCE = Path(__file__).with_name("shared_memory.cu")
ENTRY = "fivegates_fill_shared"
THREADS = 1024
WORD_BYTES = 4


def poisoner() -> Callable[[], None]:
    """A launch that fills all of it on every multiprocessor of the current device.

    A block asks for as much as there is, so that no two are on one multiprocessor.
    """
    device = Device()
    built = compile_source(
        SOURCE.read_text(),
        name=SOURCE.name,
        entry=ENTRY,
        options=(),
        architecture=f"sm_{device.compute_capability}",
    )
    size = device.attributes["MaxSharedMemoryPerBlockOptin"]
    word = int.from_bytes([POISON_BYTE] * WORD_BYTES)
    launch = Launch(
        grid=(device.attributes["MultiProcessorCount"], 1, 1),
        block=(THREADS, 1, 1),
        dynamic_shared_bytes=size,
        arguments=tuple(
            Argument(kind="scalar", name="uint32", value=value)
            for value in (size // WORD_BYTES, word)
        ),
    )
    return Kernel(built.cubin, built.symbol, most_shared=True).bound(launch, {})
