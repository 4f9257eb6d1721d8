"""Compiles an arm into shared objects, one a flavour, from one preprocessed text.

The text is made once: what is scanned is what is compiled. Errors and findings carry
the repository path of the source, as on a device.
"""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fivegates.constructs import hidden_construct
from fivegates.errors import ClaimError
from fivegates.host.compiler import Compiler, invoke
from fivegates.host.image import refusal, without_constructors
from fivegates.process import Completed

INCLUDE = Path(__file__).parent / "include"
LINK = ("-shared", "-nostdlib", "-Wl,-z,now", "-Wl,--build-id=none")
# Copies of whole objects go through the checker too.
WRAPPED = ("-Wl,--wrap=memcpy", "-Wl,--wrap=memmove", "-Wl,--wrap=memset")
LIBRARIES = {"gcc": ("-lgcc",), "clang": (), "zig": ()}
DYNAMIC_SHARED = re.compile(
    r"extern\s+((?:volatile\s+|(?:__align__|alignas)\s*\([^)]*\)\s*)*)__shared__\s+"
    r"((?:(?:__align__|alignas)\s*\([^)]*\)\s*)?[\w:<>, \t]+?)\s*(\w+)\s*\[\s*\]\s*;"
)
STATIC_SHARED = re.compile(r"\bstatic\s+__shared__\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiled:
    """Shared objects by flavour, or why the host cannot have them."""

    images: Mapping[str, bytes]
    refused: str | None


def flavours(compiler: Compiler) -> tuple[str, ...]:
    """What this compiler can make of an arm."""
    address = ("address",) if compiler.has_address_sanitizer else ()
    return ("values", "contracted", "checked", *address)


def compile_arm(
    compiler: Compiler,
    source: str,
    *,
    name: str,
    entry: str,
    chosen: Sequence[str],
    macros: tuple[str, ...] = (),
    headers: Path | None = None,
) -> Compiled:
    """The shared objects of one kernel, `chosen` flavours of them.

    ClaimError when the source does not compile or holds no kernel `entry`. `macros` are
    the claim's own `-D` and `-U`, `headers` NVIDIA's for half and bfloat16.
    """
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        text = _preprocessed(compiler, folder, source, name, entry, macros, headers)
        if hidden := hidden_construct(text, name):
            return Compiled(images={}, refused=hidden)
        unit = folder / "unit.ii"
        unit.write_text(text)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            compiled = pool.map(lambda f: _compile(compiler, folder, unit, f), chosen)
            for completed in list(compiled):
                _require_compiled(completed, name, entry)
            linked = list(pool.map(lambda f: _link(compiler, folder, f), chosen))
        if any(completed.exit_status != 0 for completed in linked):
            return Compiled(images={}, refused=_unlinked(linked))
        images = {f: (folder / f"{f}.so").read_bytes() for f in chosen}
    for flavour in chosen:
        instrumented = flavour not in ("values", "contracted")
        if instrumented:
            images[flavour] = without_constructors(images[flavour])
        if reason := refusal(images[flavour], instrumented=instrumented):
            return Compiled(images={}, refused=reason)
    return Compiled(images=images, refused=None)


def _preprocessed(
    compiler: Compiler,
    folder: Path,
    source: str,
    name: str,
    entry: str,
    macros: tuple[str, ...],
    headers: Path | None,
) -> str:
    # The one construct that a macro cannot carry: an array of the launch's size.
    body = STATIC_SHARED.sub("__shared__", source)
    body = DYNAMIC_SHARED.sub(
        lambda m: f'extern {m[1]}{m[2]} {m[3]}[] __asm__("fivegates_dynamic_shared");',
        body,
    )
    unit = folder / "unit.cpp"
    unit.write_text(
        f'#line 1 "/{name}"\n{body}\n#line 1 "/entry"\nFIVEGATES_KERNEL({entry})\n'
    )
    found = (
        ()
        if headers is None
        else ("-DFIVEGATES_CUDA_HEADERS", "-isystem", str(headers))
    )
    completed = invoke(
        compiler, "-std=c++17", "-E", *macros, *found, f"-I{INCLUDE}", "-include",
        "cuda_host.hpp", unit, "-o", folder / "made.ii",
    )  # fmt: skip
    _require_compiled(completed, name, entry)
    return (folder / "made.ii").read_text()


def _compile(compiler: Compiler, folder: Path, unit: Path, flavour: str) -> Completed:
    prefixes = (f"-ffile-prefix-map={path}=/unit" for path in (Path.cwd(), folder))
    target = folder / f"{flavour}.o"
    return invoke(
        compiler, *compiler.flags(flavour), *prefixes, "-c", unit, "-o", target
    )


def _link(compiler: Compiler, folder: Path, flavour: str) -> Completed:
    made, target = folder / f"{flavour}.o", folder / f"{flavour}.so"
    wrapped = WRAPPED if flavour == "checked" else ()
    libraries = LIBRARIES[compiler.family]
    return invoke(compiler.for_c, *LINK, *wrapped, made, "-o", target, *libraries)


def _unlinked(linked: Sequence[Completed]) -> str:
    """What the linker misses, without the paths of this machine."""
    said = "\n".join(completed.stderr for completed in linked)
    missing = re.search(r"symbol [`:']?\s*(\w+)", said)
    return f"needs {missing[1] if missing else 'more'}, which a kernel cannot have here"


def _require_compiled(completed: Completed, name: str, entry: str) -> None:
    if completed.exit_status == 0:
        return
    errors = [line for line in completed.stderr.splitlines() if "error" in line]
    first = errors[0].strip() if errors else completed.last_words
    # Macros are expanded in what is compiled: its lines are the source's, columns not.
    text = re.sub(r"^/?([^:]*:\d+):\d+: ", r"\1: ", first)
    if text.startswith("entry:"):
        raise ClaimError(
            f"{name}: no kernel for entry {entry!r}, expected a __global__ function of "
            f"that name: {text}"
        )
    raise ClaimError(f"{name}: does not compile for the host: {text}")
