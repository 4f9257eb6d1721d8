"""The device side of an arm: NVRTC compile, exact buffers, launches. CuPy lives here.

`exercise` runs a job as gates 1 and 2 need it: one case at a time, every buffer its own
allocation of the exact logical length, no pool, completion awaited after each launch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from cupy.cuda import driver, nvrtc, runtime
from cupy.cuda.function import Module

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
ALL_SHARED = 100  # percent


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

    def __init__(self, cubin: bytes, symbol: str, *, most_shared: bool = False) -> None:
        """Load the cubin into the current context: a new module, never a cached one.

        `most_shared` asks for as much shared memory as L1 can give, always: what lies
        in it may not survive a change of that share.
        """
        module = Module()
        module.load(cubin)
        self._function = module.get_function(symbol)
        self._dynamic_shared_bytes = 0
        if most_shared:
            driver.funcSetAttribute(
                self._function.ptr,
                driver.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                ALL_SHARED,
            )

    def __call__(
        self, launch: Launch, pointers: Mapping[str, int], stream: Any = None
    ) -> None:
        """Queue one launch; `pointers` are device addresses by operand name."""
        self.bound(launch, pointers, stream)()

    def bound(
        self, launch: Launch, pointers: Mapping[str, int], stream: Any = None
    ) -> Callable[[], None]:
        """A launch with its arguments made, to be queued many times."""
        self._allow(launch.dynamic_shared_bytes)
        arguments = tuple(
            np.uint64(pointers[argument.name] + (argument.value or 0))
            if argument.kind == "buffer"
            else np.dtype(argument.name).type(argument.value)
            for argument in launch.arguments
        )
        return partial(
            self._function,
            launch.grid,
            launch.block,
            arguments,
            launch.dynamic_shared_bytes,
            stream,
        )

    def _allow(self, dynamic_shared_bytes: int) -> None:
        """More dynamic shared memory than every device grants must be asked for."""
        if dynamic_shared_bytes > max(STATIC_SHARED_LIMIT, self._dynamic_shared_bytes):
            driver.funcSetAttribute(
                self._function.ptr,
                driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                dynamic_shared_bytes,
            )
            self._dynamic_shared_bytes = dynamic_shared_bytes


def exercise(
    job: Job, folder: Path, report: TextIO, fills: Sequence[Callable[[], None]] = ()
) -> bool:
    """Run every case of a job, writing distinct outputs to `folder` and a line a case.

    One of `fills` in turn is queued before each launch. False at the first device
    error: it stays with the context, so the next case needs a new process.
    """
    binary = (folder / job.binary).read_bytes()
    kernel = Kernel(binary, job.entry, most_shared=bool(fills))
    for case in job.cases:
        try:
            answer = _exercise_case(kernel, case, folder, fills)
        except (runtime.CUDARuntimeError, driver.CUDADriverError) as error:
            print(report_line(_failed(case, str(error))), file=report, flush=True)
            return False
        print(report_line(answer), file=report, flush=True)
    print('{"done": true}', file=report, flush=True)
    return True


def _failed(case: CaseJob, error: str) -> CaseReport:
    return CaseReport(
        index=case.index, variants=(), changed_inputs=(), error=error, limit=None
    )


def _exercise_case(
    kernel: Kernel, case: CaseJob, folder: Path, fills: Sequence[Callable[[], None]]
) -> CaseReport:
    sizes = {**case.inputs, **case.outputs}
    pointers = {name: runtime.malloc(size) for name, size in sizes.items()}
    inputs = {
        name: (folder / input_file(case.index, name)).read_bytes()
        for name in case.inputs
    }
    for name, data in inputs.items():
        _upload(pointers[name], data)
    variants = _launch_repeatedly(kernel, case, pointers, folder, fills)
    left = {name: bytearray(len(data)) for name, data in inputs.items()}
    for name, host in left.items():
        _download(pointers[name], host)
    changed = tuple(name for name, data in inputs.items() if left[name] != data)
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
    kernel: Kernel,
    case: CaseJob,
    pointers: Mapping[str, int],
    folder: Path,
    fills: Sequence[Callable[[], None]],
) -> tuple[int, ...]:
    seen: list[tuple[bytes | bytearray, ...]] = []
    variants = []
    read = case.outputs if case.poison else {}
    hosts = {name: bytearray(size) for name, size in read.items()}
    for k in range(case.launches if case.launch.blocks else 0):
        if case.poison:
            for name, size in case.outputs.items():
                runtime.memset(pointers[name], POISON_BYTE, size)
        if fills:
            fills[k % len(fills)]()
        kernel(case.launch, pointers)
        runtime.deviceSynchronize()
        for name, host in hosts.items():
            _download(pointers[name], host)
        output = tuple(hosts.values())
        if output not in seen:
            for name, host in hosts.items():
                file = folder / output_file(case.index, name, len(seen))
                file.write_bytes(host)
            seen.append(tuple(map(bytes, output)))
        variants.append(seen.index(output))
    return tuple(variants)


def _upload(pointer: int, data: bytes) -> None:
    if data:
        host = np.frombuffer(data, np.uint8)
        runtime.memcpy(pointer, host.ctypes.data, len(data), runtime.memcpyHostToDevice)


def _download(pointer: int, host: bytearray) -> None:
    if host:
        address = np.frombuffer(host, np.uint8).ctypes.data
        runtime.memcpy(address, pointer, len(host), runtime.memcpyDeviceToHost)
