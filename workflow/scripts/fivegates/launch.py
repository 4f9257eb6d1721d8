"""The device side of an arm: NVRTC compile, exact buffers, launches. CuPy lives here.

`exercise` runs a job as gates 1 and 2 need it: one case at a time, every buffer its own
allocation of the exact logical length, no pool, completion awaited after each launch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import cupy
import numpy as np
from cupy.cuda import nvrtc, runtime

from fivegates.arm import Launch
from fivegates.errors import ClaimError
from fivegates.headers import include_options
from fivegates.job import (
    POISON_BYTE,
    CaseJob,
    CaseReport,
    Job,
    input_file,
    output_file,
    report_line,
)
from fivegates.nvrtc import HARNESS_OPTIONS, first_error

STATIC_SHARED_LIMIT = 48 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """A cubin and the symbol that the entry expression was lowered to."""

    cubin: bytes
    symbol: str
    flags: tuple[str, ...]
    log: str


def nvrtc_version() -> str:
    """Version of the compiler."""
    major, minor = nvrtc.getVersion()
    return f"{major}.{minor}"


def compile_source(
    source: str, *, name: str, entry: str, options: tuple[str, ...], architecture: str
) -> Compiled:
    """Compile CUDA C++ to a cubin for `architecture` (`sm_90`).

    ClaimError when the source does not compile or holds no kernel `entry`. `name` is
    the repository path that errors and line information carry, the latter with a `/`
    in front: NVRTC would put the working directory there, and one source would give
    another cubin in another checkout.
    """
    flags = (*options, *HARNESS_OPTIONS, f"-arch={architecture}")
    words = (*flags, *include_options(source))
    log, program = _compile(source, f"/{name}", words, entry)
    if program is None:
        plain_log, plain = _compile(source, f"/{name}", words, None)
        if plain is None:
            raise ClaimError(
                f"{name}: does not compile: {first_error(plain_log, name)}"
            )
        raise ClaimError(
            f"{name}: no kernel for entry {entry!r}, expected a __global__ function of "
            f"that name: {first_error(log, name)}"
        )
    symbol = nvrtc.getLoweredName(program, entry)
    return Compiled(
        cubin=nvrtc.getCUBIN(program),
        symbol=symbol.decode() if isinstance(symbol, bytes) else symbol,
        flags=flags,
        log=log,
    )


def _compile(
    source: str, name: str, flags: tuple[str, ...], entry: str | None
) -> tuple[str, Any]:
    program = nvrtc.createProgram(source, name, (), ())
    if entry is not None:
        nvrtc.addNameExpression(program, entry)
    try:
        nvrtc.compileProgram(program, flags)
    except nvrtc.NVRTCError:
        return nvrtc.getProgramLog(program), None
    return nvrtc.getProgramLog(program), program


class Kernel:
    """One loaded module and its kernel."""

    def __init__(self, cubin: Path, symbol: str) -> None:
        """Load the cubin into the current context."""
        self._module = cupy.RawModule(path=str(cubin))
        self._function = self._module.get_function(symbol)

    def __call__(
        self, launch: Launch, pointers: Mapping[str, int], stream: Any = None
    ) -> None:
        """Queue one launch; `pointers` are device addresses by operand name."""
        if launch.dynamic_shared_bytes > STATIC_SHARED_LIMIT:
            self._function.max_dynamic_shared_size_bytes = launch.dynamic_shared_bytes
        arguments = tuple(
            np.uint64(pointers[argument.name])
            if argument.kind == "buffer"
            else np.dtype(argument.name).type(argument.value)
            for argument in launch.arguments
        )
        self._function(
            launch.grid,
            launch.block,
            arguments,
            shared_mem=launch.dynamic_shared_bytes,
            stream=stream,
        )


def exercise(job: Job, folder: Path, report: TextIO) -> bool:
    """Run every case of a job, writing distinct outputs to `folder` and a line a case.

    False at the first device error: it stays with the context, so the next case needs a
    new process.
    """
    kernel = Kernel(folder / job.binary, job.entry)
    for case in job.cases:
        try:
            answer = _exercise_case(kernel, case, folder)
        except (runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            print(report_line(_failed(case, str(error))), file=report, flush=True)
            return False
        print(report_line(answer), file=report, flush=True)
    print('{"done": true}', file=report, flush=True)
    return True


def _failed(case: CaseJob, error: str) -> CaseReport:
    return CaseReport(
        index=case.index, variants=(), changed_inputs=(), error=error, limit=None
    )


def _exercise_case(kernel: Kernel, case: CaseJob, folder: Path) -> CaseReport:
    sizes = {**case.inputs, **case.outputs}
    pointers = {name: runtime.malloc(size) for name, size in sizes.items()}
    inputs = {
        name: (folder / input_file(case.index, name)).read_bytes()
        for name in case.inputs
    }
    for name, data in inputs.items():
        _upload(pointers[name], data)
    variants = _launch_repeatedly(kernel, case, pointers, folder)
    changed = tuple(
        name
        for name, data in inputs.items()
        if _download(pointers[name], len(data)) != data
    )
    for pointer in pointers.values():
        runtime.free(pointer)
    return CaseReport(
        index=case.index,
        variants=variants,
        changed_inputs=changed,
        error=None,
        limit=None,
    )


def _launch_repeatedly(
    kernel: Kernel, case: CaseJob, pointers: Mapping[str, int], folder: Path
) -> tuple[int, ...]:
    seen: list[tuple[bytes, ...]] = []
    variants = []
    for _ in range(case.launches if case.launch.blocks else 0):
        if case.poison:
            for name, size in case.outputs.items():
                runtime.memset(pointers[name], POISON_BYTE, size)
        kernel(case.launch, pointers)
        runtime.deviceSynchronize()
        output = tuple(
            _download(pointers[name], size) for name, size in case.outputs.items()
        )
        if output not in seen:
            for name, data in zip(case.outputs, output, strict=True):
                file = folder / output_file(case.index, name, len(seen))
                file.write_bytes(data)
            seen.append(output)
        variants.append(seen.index(output))
    return tuple(variants)


def _upload(pointer: int, data: bytes) -> None:
    if data:
        host = np.frombuffer(data, np.uint8)
        runtime.memcpy(pointer, host.ctypes.data, len(data), runtime.memcpyHostToDevice)


def _download(pointer: int, size: int) -> bytes:
    host = np.empty(size, np.uint8)
    if size:
        runtime.memcpy(host.ctypes.data, pointer, size, runtime.memcpyDeviceToHost)
    return host.tobytes()
