"""Reads an arm's shared object: may it be loaded, and what variables does it hold.

An image that would run code while it is loaded, or that needs what the runtime does not
give, is refused by name. Nothing of it is executed here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

MEMORY_LIMIT_BYTES = 1 << 28
MATHEMATICS = re.compile(
    r"(?:sqrt|cbrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan"
    r"|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|tgamma|lgamma|fabs|floor|ceil|trunc"
    r"|round|rint|nearbyint|pow|fmod|remainder|hypot|atan2|copysign|nextafter|fdim|fmin"
    r"|fmax|fma|ldexp|sincos)f?"
)
GIVEN = re.compile(
    r"fivegates_\w+|(?:__wrap_)?mem(?:cpy|set|move|cmp)"
    r"|_GLOBAL_OFFSET_TABLE_|__(?:tsan|ubsan|asan)_\w+|__sanitizer_\w+"
)
RUNTIME = re.compile(r"fivegates_(?!thread$|parameters$)|__(?:tsan|ubsan|asan)_")
RUN_AT_LOAD = (
    "DT_INIT",
    "DT_FINI",
    "DT_INIT_ARRAY",
    "DT_FINI_ARRAY",
    "DT_PREINIT_ARRAY",
)
SHARED_DECLARATION = re.compile(r"__shared__\b([^;]*);")
OWN_NAME = re.compile(r"fivegates|Fivegates")


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """A variable of the image; `offset` from its base and `size` in bytes."""

    name: str
    shared: bool
    offset: int
    size: int


def refusal(image: bytes, *, instrumented: bool) -> str | None:
    """Why the image may not be loaded, in a few words, or None.

    A sanitizer's own constructor is let pass in an instrumented image: the same source
    without one has been refused or not before.
    """
    elf = ELFFile(BytesIO(image))
    tags = _dynamic_tags(elf)
    initialiser = next((tag for tag in RUN_AT_LOAD if tag in tags), None)
    if initialiser and not (instrumented and _lone_constructor(elf)):
        return "runs code when it is loaded (a dynamic initialiser or constructor)"
    if "DT_NEEDED" in tags:
        return "needs another library"
    memory = sum(
        segment["p_memsz"]
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_LOAD"
    )
    if memory > MEMORY_LIMIT_BYTES:
        return f"needs {memory} bytes of memory for its variables"
    for symbol in _symbols(elf):
        if symbol["st_info"]["type"] in ("STT_LOOS", "STT_GNU_IFUNC"):
            return f"chooses {symbol.name} when it is loaded"
        undefined = symbol["st_shndx"] == "SHN_UNDEF"
        if undefined and symbol.name and not _given(symbol.name):
            return f"calls {symbol.name}, which a kernel cannot have here"
        if not undefined and RUNTIME.match(symbol.name):
            return f"defines {symbol.name}, which is the runtime's"
    return None


def _dynamic_tags(elf: ELFFile) -> set[str]:
    sections = [s for s in elf.iter_sections() if isinstance(s, DynamicSection)]
    return {tag.entry.d_tag for section in sections for tag in section.iter_tags()}


def _lone_constructor(elf: ELFFile) -> bool:
    arrays = [
        s for s in elf.iter_sections() if s.name in (".init_array", ".fini_array")
    ]
    return all(s["sh_size"] == elf.elfclass // 8 for s in arrays) and not any(
        elf.get_section_by_name(name) for name in (".init", ".fini", ".preinit_array")
    )


def _given(name: str) -> bool:
    return bool(GIVEN.fullmatch(name) or MATHEMATICS.fullmatch(name))


def _symbols(elf: ELFFile) -> Iterator[Any]:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            yield from section.iter_symbols()


def variables(image: bytes, source: str) -> tuple[Variable, ...]:
    """Writable variables of the module, shared those that `source` declares so."""
    elf = ELFFile(BytesIO(image))
    names = shared_names(source)
    found: dict[int, Variable] = {}
    for symbol in _symbols(elf):
        size, section = symbol["st_size"], symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not size:
            continue
        if not isinstance(section, int) or not _writable(elf, section):
            continue
        name = plain_name(symbol.name)
        if OWN_NAME.search(symbol.name) or symbol.name.startswith((".L", "__")):
            continue
        found[symbol["st_value"]] = Variable(
            name=name, shared=name in names, offset=symbol["st_value"], size=size
        )
    return tuple(found[offset] for offset in sorted(found))


def _writable(elf: ELFFile, section: int) -> bool:
    header = elf.get_section(section)
    return bool(header["sh_flags"] & 1) and not header.name.startswith(".data.rel.ro")


def shared_names(source: str) -> frozenset[str]:
    """Names declared behind `__shared__`: a and b of `__shared__ float a[4], b;`."""
    names: set[str] = set()
    for declared in SHARED_DECLARATION.findall(source):
        without_sizes = re.sub(r"\[[^\]]*\]|<[^>]*>|\([^)]*\)", " ", declared)
        for part in without_sizes.split(","):
            words = re.findall(r"\w+", part.partition("=")[0])
            names.update(words[-1:])
    return frozenset(names)


def plain_name(symbol: str) -> str:
    """The source's name in a mangled one: `h` of `_ZZ8rnn_racyE1h`."""
    if not symbol.startswith("_Z"):
        return re.sub(r"\.\d+$", "", symbol)
    name, rest = symbol, symbol
    while found := re.search(r"(\d+)(?=[A-Za-z_])", rest):
        length, start = int(found[1]), found.end()
        if start + length <= len(rest):
            name, rest = rest[start : start + length], rest[start + length :]
        else:
            rest = rest[start:]
    return name
