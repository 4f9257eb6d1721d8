"""Compiles a kernel source for devices that are not here: NVRTC from PyPI, no driver.

g++ takes what NVRTC refuses (`INFINITY` without a header is one), so a claim that ran
on the host alone may hold a kernel that no device will ever see. The packages are
optional; their names are those of the extra `host`.
"""

import importlib
from collections.abc import Sequence
from typing import Any

from fivegates.errors import ClaimError, ToolError
from fivegates.headers import include_options
from fivegates.nvrtc import HARNESS_OPTIONS, first_error


def available() -> str | None:
    """The compiler, as `NVRTC 13.5`; None where its packages are missing."""
    try:
        _, major, minor = _nvrtc().nvrtcVersion()
    except ToolError:
        return None
    return f"NVRTC {major}.{minor}"


def compile_for(
    source: str,
    *,
    name: str,
    entry: str,
    options: Sequence[str],
    architectures: Sequence[int],
) -> tuple[str, ...]:
    """Compile for each of `architectures` (90 is `compute_90`); the targets, in order.

    ClaimError at the first target that refuses the source or finds no kernel `entry`,
    ToolError without NVRTC. `name` is the repository path that errors carry.
    """
    for architecture in architectures:
        ptx(source, name=name, entry=entry, options=options, architecture=architecture)
    return tuple(f"compute_{architecture}" for architecture in architectures)


def ptx(
    source: str, *, name: str, entry: str, options: Sequence[str], architecture: int
) -> tuple[str, str]:
    """PTX text and the symbol `entry` was lowered to; errors as of `compile_for`."""
    target = f"compute_{architecture}"
    flags = (*options, *HARNESS_OPTIONS, *include_options(source), f"-arch={target}")
    log, compiled = _compile(source, f"/{name}", flags, entry)
    if compiled is not None:
        return compiled
    plain_log, plain = _compile(source, f"/{name}", flags, None)
    if plain is None:
        raise ClaimError(
            f"{name}: does not compile for {target}: {first_error(plain_log, name)}"
        )
    raise ClaimError(
        f"{name}: no kernel for entry {entry!r}, expected a __global__ function of "
        f"that name: {first_error(log, name)}"
    )


def _compile(
    source: str, name: str, flags: tuple[str, ...], entry: str | None
) -> tuple[str, tuple[str, str] | None]:
    nvrtc = _nvrtc()
    words = [flag.encode() for flag in flags]
    program = _call(
        nvrtc.nvrtcCreateProgram, source.encode(), name.encode(), 0, None, None
    )
    try:
        if entry is not None:
            _call(nvrtc.nvrtcAddNameExpression, program, entry.encode())
        (refused,) = nvrtc.nvrtcCompileProgram(program, len(words), words)
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if refused:
            return log, None
        text = _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        if entry is None:
            return log, (text, "")
        symbol = _call(nvrtc.nvrtcGetLoweredName, program, entry.encode())
        return log, (text, symbol.decode())
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _nvrtc() -> Any:
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):  # the latter: bindings without the library
        raise ToolError(
            "NVRTC: not installed, expected the packages of the extra 'host'"
        ) from None
    return nvrtc


def _call(function: Any, *arguments: Any) -> Any:
    status, *values = function(*arguments)
    if status:
        raise ToolError(f"{function.__name__}: {status.name}, expected NVRTC_SUCCESS")
    return values[0] if values else None


def _text(size_of: Any, fill: Any, program: Any) -> str:
    # The binding writes into the bytes it is given. Of one byte Python keeps a single
    # object for all, so an empty log would change every b" " of this process.
    buffer = bytes(_call(size_of, program) + 1)
    _call(fill, program, buffer)
    return str(buffer.rstrip(b"\0"), errors="replace")
