"""Which line of an arm's source an address of its image belongs to, read from DWARF."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from elftools.dwarf.descriptions import describe_form_class
from elftools.elf.elffile import ELFFile


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Which line of the source an address of the image belongs to."""

    file: str
    starts: Sequence[int]
    rows: Sequence[tuple[str, int]]
    calls: Sequence[tuple[int, int, int]]

    def at(self, pc: int) -> int | None:
        """Line of the call that returns to `pc`, in the kernel's file; None if unknown.

        An address in a header's function that was inlined is that of its caller.
        """
        address = pc - 1
        index = bisect_right(self.starts, address) - 1
        if pc == 0 or index < 0:
            return None
        file, line = self.rows[index]
        if file == self.file:
            return line
        inside = [c for c in self.calls if c[0] <= address < c[1]]
        return min(inside, key=lambda c: c[1] - c[0])[2] if inside else None


def lines(image: bytes, file: str) -> Lines:
    """Line table of an image; `file` is the name that its source was compiled under."""
    elf = ELFFile(BytesIO(image))
    rows: list[tuple[int, str, int]] = []
    calls: list[tuple[int, int, int]] = []
    if elf.has_dwarf_info():
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is None:
                continue
            names = _file_names(program)
            for entry in program.get_entries():
                state = entry.state
                if state is not None:
                    name = "" if state.end_sequence else names(state.file)
                    rows.append((state.address, name, state.line))
            calls += _inlined(unit, names, file)
    rows.sort(key=lambda row: row[0])
    return Lines(
        file=file,
        starts=[row[0] for row in rows],
        rows=[(row[1], row[2]) for row in rows],
        calls=calls,
    )


def _file_names(program: Any) -> Callable[[int], str]:
    header = program.header
    base = 0 if header["version"] >= 5 else 1

    def name(index: int) -> str:
        entries = header["file_entry"]
        position = index - base
        if not 0 <= position < len(entries):
            return ""
        entry = entries[position]
        folders = header["include_directory"]
        found = entry.dir_index - base
        folder = folders[found] if 0 <= found < len(folders) else b""
        return f"{_text(folder)}/{_text(entry.name)}".replace("//", "/").lstrip("/")

    return name


def _text(name: bytes) -> str:
    return name.decode(errors="replace")


def _inlined(
    unit: Any, names: Callable[[int], str], file: str
) -> Iterator[tuple[int, int, int]]:
    """Address ranges of functions inlined into lines of the file, and those lines."""
    for die in unit.iter_DIEs():
        attributes = die.attributes
        if (
            die.tag != "DW_TAG_inlined_subroutine"
            or "DW_AT_call_line" not in attributes
        ):
            continue
        if names(attributes["DW_AT_call_file"].value) != file:
            continue
        line = attributes["DW_AT_call_line"].value
        for low, high in _ranges(unit, die):
            yield low, high, line


def _ranges(unit: Any, die: Any) -> Iterator[tuple[int, int]]:
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        relative = describe_form_class(high.form) == "constant"
        yield low, low + high.value if relative else high.value
    elif "DW_AT_ranges" in attributes:
        table = unit.dwarfinfo.range_lists()
        entries = table.get_range_list_at_offset(
            attributes["DW_AT_ranges"].value, cu=unit
        )
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        start = 0 if base is None else base.value
        for entry in entries:
            if hasattr(entry, "base_address"):
                start = entry.base_address
            else:
                offset = 0 if getattr(entry, "is_absolute", False) else start
                yield entry.begin_offset + offset, entry.end_offset + offset
