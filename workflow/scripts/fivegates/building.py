"""Compiles a kernel for whichever backend answers; imports only that backend's room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fivegates.backend import Backend, binary_name
from fivegates.constructs import foreign_include, is_no_kernel, unsupported
from fivegates.errors import ClaimError


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """Binaries by file name, the symbol of the kernel, and how they came about.

    A device has one binary, the host one for values and one for the sanitizers; there
    are none where the host backend cannot run the source.
    """

    binaries: Mapping[str, bytes]
    symbol: str
    compiler: str
    flags: tuple[str, ...]
    log: str

    @property
    def measured(self) -> dict[str, Any]:
        """What the record of a build keeps."""
        return {
            "compiler": self.compiler,
            "flags": list(self.flags),
            "symbol": self.symbol,
            "log": self.log,
        }


def build(
    backend: Backend, source: str, *, name: str, entry: str, options: Sequence[str]
) -> Built:
    """Compile a source; ClaimError when it does not compile or lacks the entry."""
    if include := foreign_include(source):
        raise ClaimError(
            f"{name}: {include}, expected one file with <...> headers of the toolkit"
        )
    if is_no_kernel(source, entry):
        raise ClaimError(f"{name}: {entry!r} is not __global__, expected a kernel")
    if backend.device is None:
        return _build_for_host(source, name, entry, options)
    from fivegates.launch import compile_source, nvrtc_version

    compiled = compile_source(
        source,
        name=name,
        entry=entry,
        options=tuple(options),
        architecture=backend.device.architecture,
    )
    return Built(
        binaries={binary_name("cuda", sanitized=False): compiled.cubin},
        symbol=compiled.symbol,
        compiler=f"NVRTC {nvrtc_version()}",
        flags=compiled.flags,
        log=compiled.log,
    )


def _build_for_host(
    source: str, name: str, entry: str, options: Sequence[str]
) -> Built:
    from fivegates.host.build import FLAVOURS, compile_runner, find_compiler, flags

    compiler = find_compiler()
    macros = tuple(option for option in options if option.startswith(("-D", "-U")))
    flavours = FLAVOURS if unsupported(source) is None else ()
    return Built(
        binaries={
            f"{flavour}.bin": compile_runner(
                compiler,
                source,
                name=name,
                entry=entry,
                flavour=flavour,
                macros=macros,
            )
            for flavour in flavours
        },
        symbol=entry,
        compiler=compiler.version,
        flags=(*flags("sanitized"), *macros),
        log="",
    )
