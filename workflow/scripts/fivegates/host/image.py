"""Reads an arm's shared object: may it be loaded, and what variables does it hold.

An image that would run code while it is loaded, or that needs what the runtime does not
give, is refused by name. Nothing of it is executed here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from fivegates.constructs import Token, tokens

Kind = Literal["shared", "static", "ignored"]
MACRO = "#define"
OPENING, CLOSING = ("{", "(", "["), ("}", ")", "]")
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
CONSTRUCTOR_SIZES = ("DT_INIT_ARRAYSZ", "DT_FINI_ARRAYSZ")
PLAIN_TAGS = frozenset(
    f"DT_{name}"
    for name in (
        *("NULL", "HASH", "GNU_HASH", "STRTAB", "SYMTAB", "STRSZ", "SYMENT", "RELA"),
        *("RELASZ", "RELAENT", "RELACOUNT", "PLTGOT", "PLTRELSZ", "PLTREL", "JMPREL"),
        *("FLAGS", "FLAGS_1", "BIND_NOW", "RELR", "RELRSZ", "RELRENT"),
    )
)
# By machine: plain, of an address, of a function's slot, of the image's own base.
PLAIN_RELOCATIONS = {"EM_X86_64": (1, 6, 7, 8), "EM_AARCH64": (257, 1025, 1026, 1027)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """A variable of the image; `offset` from its base and `size` in bytes."""

    name: str
    kind: Kind
    offset: int
    size: int


def without_constructors(image: bytes) -> bytes:
    """The image with no code to run at load: for one whose compiler put it there.

    The runtime needs nothing of what a sanitizer's constructor does.
    """
    silenced = bytearray(image)
    for section in ELFFile(BytesIO(image)).iter_sections():
        if not isinstance(section, DynamicSection):
            continue
        for index, tag in enumerate(section.iter_tags()):
            if tag.entry.d_tag in CONSTRUCTOR_SIZES:
                value = section["sh_offset"] + index * section["sh_entsize"] + 8
                silenced[value : value + 8] = bytes(8)
    return bytes(silenced)


def refusal(image: bytes, *, instrumented: bool) -> str | None:
    """Why the image may not be loaded, in a few words, or None.

    An instrumented image has lost its constructors before: see `without_constructors`.
    """
    elf = ELFFile(BytesIO(image))
    tags = _dynamic_tags(elf)
    silent = ("DT_INIT_ARRAY", "DT_FINI_ARRAY") if instrumented else ()
    if any(tags.get(tag) for tag in CONSTRUCTOR_SIZES) or any(
        tag in tags for tag in RUN_AT_LOAD if tag not in silent
    ):
        return "runs code when it is loaded (a dynamic initialiser or constructor)"
    known = {*PLAIN_TAGS, *RUN_AT_LOAD, *CONSTRUCTOR_SIZES}
    if strange := sorted(set(tags) - known):
        return f"asks the loader for {strange[0]}"
    if any(
        kind not in PLAIN_RELOCATIONS[elf["e_machine"]] for kind in _relocations(elf)
    ):
        return "asks the loader to run its code (a relocation)"
    memory = sum(
        segment["p_memsz"]
        for segment in elf.iter_segments()
        if segment["p_type"] == "PT_LOAD"
    )
    if memory > MEMORY_LIMIT_BYTES:
        return f"needs {memory} bytes of memory for its variables"
    return next(filter(None, map(_symbol_refusal, _symbols(elf))), None)


def _symbol_refusal(symbol: Any) -> str | None:
    if symbol["st_info"]["type"] in ("STT_LOOS", "STT_GNU_IFUNC"):
        return f"chooses {symbol.name} when it is loaded"
    undefined = symbol["st_shndx"] == "SHN_UNDEF"
    if undefined and symbol.name and not _given(symbol.name):
        return f"calls {symbol.name}, which a kernel cannot have here"
    if not undefined and RUNTIME.match(symbol.name):
        return f"defines {symbol.name}, which is the runtime's"
    return None


def _relocations(elf: ELFFile) -> Iterator[int]:
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection):
            for relocation in section.iter_relocations():
                yield relocation["r_info_type"]


def _dynamic_tags(elf: ELFFile) -> dict[str, int]:
    sections = [s for s in elf.iter_sections() if isinstance(s, DynamicSection)]
    return {
        tag.entry.d_tag: tag.entry.d_val
        for section in sections
        for tag in section.iter_tags()
    }


def _given(name: str) -> bool:
    return bool(GIVEN.fullmatch(name) or MATHEMATICS.fullmatch(name))


def _symbols(elf: ELFFile) -> Iterator[Any]:
    for section in elf.iter_sections():
        if isinstance(section, SymbolTableSection):
            yield from section.iter_symbols()


def variables(image: bytes, source: str) -> tuple[Variable, ...]:
    """Writable variables of the module, shared those that `source` declares so.

    Where a macro declares them, every variable that is local to a function is shared.
    """
    elf = ELFFile(BytesIO(image))
    names = shared_names(source)
    found: dict[int, Variable] = {}
    for symbol in _symbols(elf):
        size, section = symbol["st_size"], symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not size:
            continue
        if not isinstance(section, int) or not _writable(elf, section):
            continue
        name, local = plain_name(symbol.name), symbol.name.startswith("_ZZ")
        shared = name in names or (local and MACRO in names)
        kind: Kind = "shared" if shared else "static"
        if symbol.name.startswith("_ZGV"):
            kind = "ignored"  # whether a variable has been constructed
        found[symbol["st_value"]] = Variable(
            name=name, kind=kind, offset=symbol["st_value"], size=size
        )
    return tuple(found[offset] for offset in sorted(found))


def _writable(elf: ELFFile, section: int) -> bool:
    header = elf.get_section(section)
    return bool(header["sh_flags"] & 1) and not header.name.startswith(".data.rel.ro")


def shared_names(source: str) -> frozenset[str]:
    """Names declared behind `__shared__`: a and b of `__shared__ float a[4], b;`.

    MACRO among them says that a macro declares some.
    """
    names: set[str] = set()
    words = list(tokens(source))
    for index, token in enumerate(words):
        if token.kind == "directive" and "__shared__" in token.text:
            names.add(MACRO)
        elif token.text == "__shared__":
            names.update(_declared(words[index + 1 :]))
    return frozenset(names)


def _declared(following: Sequence[Token]) -> Iterator[str]:
    """Names that a declaration gives; its type may be one in braces."""
    depth, last, angles = 0, "", 0
    for token in following:
        if depth == 0 and token.text in ("<", ">"):
            angles += 1 if token.text == "<" else -1
        elif token.text.startswith(OPENING):
            depth += 1
        elif token.text in CLOSING:
            depth -= 1
        elif angles:
            continue
        elif depth == 0 and token.text in (",", ";", "="):
            if last:
                yield last
            last = ""
            if token.text == ";":
                return
        elif depth == 0 and token.kind == "word":
            last = token.text


def plain_name(symbol: str) -> str:
    """The source's name in a mangled one: `h` of `_ZZ8rnn_racyE1h`."""
    if not symbol.startswith("_Z"):
        return re.sub(r"\.\d+$", "", symbol)
    for match in reversed(list(re.finditer(r"(?<!\d)(\d+)", symbol))):
        rest = symbol[match.end() :]
        name, tail = rest[: int(match[1])], rest[int(match[1]) :]
        if (
            len(name) == int(match[1])
            and name
            and re.fullmatch(r"E?v?(?:_\d*_?)?", tail)
        ):
            return name
    return symbol
