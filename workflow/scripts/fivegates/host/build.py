"""Compiles a kernel source with the runner, in the two flavours that the gates run.

`plain` is for values, `sanitized` for Address- and UndefinedBehaviorSanitizer. Only the
kernel is instrumented. The arm becomes native code with the caller's rights.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fivegates.errors import ClaimError, ToolError
from fivegates.process import Completed, run

HERE = Path(__file__).parent
COMPILE_TIMEOUT_S = 120
COMMON = (
    "-std=c++20",
    "-g",
    "-fno-omit-frame-pointer",
    "-fno-strict-aliasing",
    # nvcc contracts a*b+c by default; fma() and fmaf() are exact either way.
    "-ffp-contract=off",
)
SANITIZERS = (
    "-fsanitize=address,undefined",
    "-fno-sanitize=vptr",
    "-fsanitize-recover=all",
)
FLAVOURS: Mapping[str, tuple[str, ...]] = {
    "plain": ("-O2",),
    "sanitized": ("-O1", *SANITIZERS),
}
RUNNER_FLAGS: Mapping[str, tuple[str, ...]] = {
    "plain": ("-O1",),
    "sanitized": ("-O1", "-DFIVEGATES_SANITIZED"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiler:
    """A C++ compiler and what it says it is."""

    path: Path
    version: str


def find_compiler() -> Compiler:
    """$CXX, else g++, else clang++; ToolError when there is none."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++")):
        if path := shutil.which(name):
            completed = run([path, "--version"], timeout_s=30)
            said = completed.stdout.strip().splitlines()
            if completed.exit_status != 0 or not said:
                raise ToolError(f"{path}: --version says {completed.last_words!r}")
            return Compiler(path=Path(path), version=said[0])
    raise ToolError("g++: not found on PATH, needed by the host backend. Install g++")


def flags(flavour: str) -> tuple[str, ...]:
    """Compiler flags of one flavour, as the record states them."""
    return (*COMMON, *FLAVOURS[flavour])


def compile_runner(
    compiler: Compiler,
    source: str,
    *,
    name: str,
    entry: str,
    flavour: str,
    macros: tuple[str, ...] = (),
) -> bytes:
    """The runner's executable for one kernel.

    ClaimError when the source does not compile or holds no kernel `entry`; `name` is
    the repository path that errors and findings carry, as on the device. `macros` are
    the claim's own `-D` and `-U`; its other options are NVRTC's alone.
    """
    kernel_flags = (*FLAVOURS[flavour], *macros)
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        runner = folder / "runner.o"
        kernel = folder / "kernel.o"
        _require_compiled(
            _compile(compiler, HERE / "runner.cpp", runner, RUNNER_FLAGS[flavour]), name
        )
        unit = _unit(folder / "kernel.cpp", source, name, entry=entry)
        completed = _compile(compiler, unit, kernel, kernel_flags)
        if completed.exit_status != 0:
            bare = _unit(folder / "bare.cpp", source, name, entry=None)
            _require_compiled(_compile(compiler, bare, kernel, kernel_flags), name)
            raise ClaimError(
                f"{name}: no kernel for entry {entry!r}, expected a __global__ "
                f"function of that name: {_first_error(completed, name)}"
            )
        program = folder / "program"
        link: list[str | Path] = [
            compiler.path,
            *FLAVOURS[flavour],
            kernel,
            runner,
            "-o",
            program,
        ]
        _require_compiled(run(link, timeout_s=COMPILE_TIMEOUT_S), name)
        return program.read_bytes()


def _unit(path: Path, source: str, name: str, entry: str | None) -> Path:
    kernel = "" if entry is None else f'#line 1 "/entry"\nFIVEGATES_KERNEL({entry})\n'
    path.write_text(f'#include "cuda_host.hpp"\n#line 1 "/{name}"\n{source}\n{kernel}')
    return path


def _compile(
    compiler: Compiler, unit: Path, target: Path, extra: tuple[str, ...]
) -> Completed:
    command: list[str | Path] = [
        compiler.path,
        *COMMON,
        *extra,
        f"-ffile-prefix-map={HERE}=/fivegates/host",
        f"-ffile-prefix-map={unit.parent}=/unit",
        f"-I{HERE}",
        "-c",
        unit,
        "-o",
        target,
    ]
    return run(command, timeout_s=COMPILE_TIMEOUT_S, environment={"LC_ALL": "C"})


def _require_compiled(completed: Completed, name: str) -> None:
    if completed.exit_status != 0:
        raise ClaimError(
            f"{name}: does not compile for the host: {_first_error(completed, name)}"
        )


def _first_error(completed: Completed, name: str) -> str:
    errors = [line for line in completed.stderr.splitlines() if "error" in line]
    text = errors[0].strip() if errors else completed.last_words
    return text.replace(f"/{name}:", f"{name}:").removeprefix("/")
