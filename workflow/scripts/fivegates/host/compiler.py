"""The C++ compiler of this machine, and the flags of each flavour of an arm.

`values` is for results, `contracted` the same with a*b+c fused as nvcc does by default,
`checked` calls the checker at every access, `address` is AddressSanitizer's.
"""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from fivegates.errors import ToolError
from fivegates.process import Completed, run

Family = Literal["gcc", "clang", "zig"]
COMPILE_TIMEOUT_S = 120
MEMORY_BYTES = 4 << 30
FILE_BYTES = 256 << 20
COMMON = (
    "-std=c++17",
    "-g1",
    "-w",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fno-omit-frame-pointer",
    "-fno-semantic-interposition",
    "-fno-threadsafe-statics",
    "-fstack-clash-protection",
)
UNDEFINED = "-fsanitize=undefined,float-cast-overflow"
# Left to the checker itself, which knows more of a device's memory.
NOT_UNDEFINED = "-fno-sanitize=vptr,null,object-size"
FLAVOURS: Mapping[str, tuple[str, ...]] = {
    "values": ("-O2", "-ffp-contract=off"),
    "contracted": ("-O2", "-ffp-contract=fast"),
    "checked": (
        "-O1",
        "-ffp-contract=off",
        "-fsanitize=thread",
        UNDEFINED,
        NOT_UNDEFINED,
    ),
    "address": (
        "-O1",
        "-ffp-contract=off",
        "-fsanitize=address",
        "-fsanitize-recover=address",
    ),
}
# Vector code would hide single accesses; a volatile one is another kind of access.
CHECKED: Mapping[Family, tuple[str, ...]] = {
    "gcc": (
        "-fno-sanitize=alignment",
        "-fno-tree-vectorize",
        "-fno-tree-sra",
        "--param=tsan-distinguish-volatile=1",
    ),
    "clang": (
        "-fno-vectorize",
        "-fno-slp-vectorize",
        "-fno-sanitize=function",
        "-mllvm",
        "-tsan-distinguish-volatile=1",
        "-mllvm",
        "-tsan-instrument-read-before-write=1",
    ),
}
RUNNER = ("-O2", "-g1", "-fno-exceptions", "-fno-rtti", "-fno-sanitize=all")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiler:
    """A C++ compiler: how it is called and what it says it is."""

    command: tuple[str, ...]
    version: str
    family: Family

    def flags(self, flavour: str) -> tuple[str, ...]:
        """Flags of one flavour, as the record states them."""
        extra: tuple[str, ...] = ()
        if flavour == "checked":
            extra = CHECKED["gcc" if self.family == "gcc" else "clang"]
        if self.family == "zig":
            extra = (*extra, "-fno-sanitize-trap=all")
            extra += () if flavour == "checked" else ("-fno-sanitize=all",)
        if flavour == "contracted" and processor_fuses():
            extra = (*extra, "-mfma")
        return (*COMMON, *FLAVOURS[flavour], *extra)

    @property
    def for_c(self) -> "Compiler":
        """The same to link with; zig would build a C++ library that nothing uses."""
        if self.family != "zig":
            return self
        return replace(self, command=(*self.command[:-1], "cc"))

    @property
    def has_address_sanitizer(self) -> bool:
        """Whether it links AddressSanitizer's own runtime; zig does not."""
        return self.family != "zig" and _links_address_sanitizer(self.command)


def find_compiler() -> Compiler:
    """$CXX, else g++, clang++, or the zig of the package ziglang; else ToolError."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        if path := shutil.which(name):
            return identified((path,))
    if importlib.util.find_spec("ziglang") is not None:
        return identified((sys.executable, "-m", "ziglang", "c++"))
    raise ToolError(
        "g++: not found on PATH, needed by the host backend. Install g++, clang++ or "
        "the package ziglang"
    )


@cache
def identified(command: tuple[str, ...]) -> Compiler:
    """The compiler that this command calls; ToolError when it does not answer."""
    completed = run([*command, "--version"], timeout_s=60)
    said = completed.stdout.strip().splitlines()
    if completed.exit_status != 0 or not said:
        raise ToolError(f"{command[0]}: --version says {completed.last_words!r}")
    family: Family = "gcc"
    if "clang" in completed.stdout:
        family = "zig" if "ziglang" in command else "clang"
    return Compiler(command=command, version=said[0], family=family)


@cache
def _links_address_sanitizer(command: tuple[str, ...]) -> bool:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fivegates-") as folder:
        unit = Path(folder) / "unit.cpp"
        unit.write_text("int main() {}")
        linked = run(
            [*command, "-fsanitize=address", unit, "-o", Path(folder) / "program"],
            timeout_s=COMPILE_TIMEOUT_S,
        )
    return linked.exit_status == 0


@cache
def processor_fuses() -> bool:
    """Whether this processor has the instruction that a contraction compiles to."""
    if os.uname().machine == "aarch64":
        return False  # fused without being asked for: no flag is needed
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.is_file() and " fma " in cpuinfo.read_text()


def invoke(compiler: Compiler, *words: str | Path) -> Completed:
    """Call the compiler, bounded in time, memory and output, in plain English."""
    return run(
        [*compiler.command, *words],
        timeout_s=COMPILE_TIMEOUT_S,
        environment={"LC_ALL": "C"},
        memory_bytes=None if compiler.family == "zig" else MEMORY_BYTES,
        file_bytes=FILE_BYTES,
    )
