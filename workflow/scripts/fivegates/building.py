"""Compiles a kernel for whichever backend answers; imports only that backend's room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fivegates.backend import Backend
from fivegates.checking import ADDRESS, CHECKED
from fivegates.constructs import (
    foreign_include,
    is_no_kernel,
    needs_cuda_headers,
    unsupported,
)
from fivegates.errors import ClaimError
from fivegates.headers import include_folder
from fivegates.host import device_compile
from fivegates.host.build import Compiled, compile_arm, flavours
from fivegates.host.compiler import Compiler, find_compiler

ARCHITECTURES = (80, 90, 100)


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """Binaries by file name, the symbol of the kernel, and how they came about.

    A device has one binary, the host one a flavour, or none where it cannot run the
    source; `host` says why, and what compiled the source for devices.
    """

    binaries: Mapping[str, bytes]
    symbol: str
    compiler: str
    flags: tuple[str, ...]
    log: str
    host: Mapping[str, Any] | None = None

    @property
    def measured(self) -> dict[str, Any]:
        """What the record of a build keeps."""
        return {
            "compiler": self.compiler,
            "flags": list(self.flags),
            "symbol": self.symbol,
            "log": self.log,
            **({} if self.host is None else {"host": dict(self.host)}),
        }


def build(
    backend: Backend,
    source: str,
    *,
    name: str,
    entry: str,
    options: Sequence[str],
    control: bool = False,
) -> Built:
    """Compile a source; ClaimError when it does not compile or lacks the entry.

    On the host NVRTC compiles it for devices too; a control has only what checks.
    """
    if include := foreign_include(source):
        raise ClaimError(
            f"{name}: {include}, expected one file with <...> headers of the toolkit"
        )
    if is_no_kernel(source, entry):
        raise ClaimError(f"{name}: {entry!r} is not __global__, expected a kernel")
    if backend.device is None:
        return _build_for_host(source, name, entry, options, control=control)
    from fivegates.launch import compile_source, nvrtc_version

    compiled = compile_source(
        source,
        name=name,
        entry=entry,
        options=tuple(options),
        architecture=backend.device.architecture,
    )
    return Built(
        binaries={"kernel.cubin": compiled.cubin},
        symbol=compiled.symbol,
        compiler=f"NVRTC {nvrtc_version()}",
        flags=compiled.flags,
        log=compiled.log,
    )


def _build_for_host(
    source: str, name: str, entry: str, options: Sequence[str], *, control: bool
) -> Built:
    """Shared objects of every flavour; NVRTC must take the source for devices too.

    What NVRTC takes and the host's compiler refuses is a construct that it lacks.
    """
    compiler = find_compiler()
    macros = tuple(option for option in options if option.startswith(("-D", "-U")))
    refusal: ClaimError | None = None
    try:
        compiled = _compile_for_host(compiler, source, name, entry, macros, control)
    except ClaimError as error:
        refusal, compiled = error, Compiled(images={}, refused=str(error))
    try:
        targets = (
            None if control else _compile_for_devices(source, name, entry, options)
        )
    except ClaimError as error:
        raise (refusal or error) from None
    if refusal is not None and targets is None:
        raise refusal
    return Built(
        binaries={f"{flavour}.so": image for flavour, image in compiled.images.items()},
        symbol=entry,
        compiler=compiler.version,
        flags=(*compiler.flags("checked"), *macros),
        log="",
        host={"refused": compiled.refused, "device_compiler": targets},
    )


def _compile_for_host(
    compiler: Compiler,
    source: str,
    name: str,
    entry: str,
    macros: tuple[str, ...],
    control: bool,
) -> Compiled:
    if lacking := unsupported(source):
        return Compiled(images={}, refused=lacking)
    headers = include_folder() if needs_cuda_headers(source) else None
    if needs_cuda_headers(source) and headers is None:
        return Compiled(images={}, refused="needs the headers of the extra 'host'")
    chosen = flavours(compiler)
    if control:
        chosen = tuple(f for f in chosen if f in (CHECKED, ADDRESS))
    return compile_arm(
        compiler,
        source,
        name=name,
        entry=entry,
        chosen=chosen,
        macros=macros,
        headers=headers,
    )


def _compile_for_devices(
    source: str, name: str, entry: str, options: Sequence[str]
) -> dict[str, Any] | None:
    """What NVRTC compiled the source for; None where it is not installed."""
    version = device_compile.available()
    if version is None:
        return None
    targets = device_compile.compile_for(
        source, name=name, entry=entry, options=options, architectures=ARCHITECTURES
    )
    return {"name": version, "targets": list(targets)}
