"""What passes between Python and the runner beside the job itself.

host.txt tells the runner of the arm's variables; findings.jsonl and census.jsonl come
back with addresses, which are lines of the source when this module has read them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from fivegates.host.image import variables
from fivegates.host.symbols import Lines

Mode = Literal["values", "checked", "address"]
FRAME = re.compile(r"( +#\d+ 0x[0-9a-f]+ +\()([^()+]*)\+0x([0-9a-f]+)\)[^\n]*")
# The arm shares its process with the checker and may have written over what that wrote.
SPOILED: dict[str, Any] = {"not_kept": 1, "count": 0}
ACCESSES = ("global load", "global store", "shared load", "shared store")
IDENTITY = ("check", "kind", "level", "file", "line", "other_line", "object")


def write_host_file(
    folder: Path, image: bytes, source: str, *, mode: Mode, census: bool = False
) -> None:
    """Write host.txt for the arm whose image is the job's binary."""
    rows = [f"mode {mode}", f"census {int(census)}"]
    for variable in variables(image, source):
        place = f"{variable.offset} {variable.size}"
        rows.append(f"{variable.kind} {variable.name} {place}")
    (folder / "host.txt").write_text("\n".join(rows) + "\n")


def read_findings(folder: Path, table: Lines) -> list[dict[str, Any]]:
    """Findings over all cases of a run: the first of each place, with its count."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in _rows(folder / "findings.jsonl"):
        try:
            found = _located(row, table)
        except (AttributeError, KeyError, TypeError):
            found = SPOILED
        key = tuple(found.get(name) for name in IDENTITY)
        if key in merged:
            merged[key]["count"] += found.get("count", 0)
        else:
            merged[key] = dict(found)
    return list(merged.values())


def _located(row: Mapping[str, Any], table: Lines) -> dict[str, Any]:
    if "not_kept" not in row:
        row["check"], row["count"]  # a row without them is none of the checker's
    found = {key: value for key, value in row.items() if key not in ("pc", "other_pc")}
    found["file"] = row.get("file", table.file).lstrip("/")
    if "pc" in row:
        found["line"] = table.at(row["pc"])
        found["other_line"] = table.at(row["other_pc"])
    return found


def read_census(folder: Path, table: Lines, case: int) -> list[dict[str, Any]]:
    """Accesses of one case by source line and kind, in the order of the lines.

    Empty where the run counted nothing, or could not hold all that it had to count.
    """
    totals: dict[tuple[int, str], dict[str, Any]] = {}
    for row in _rows(folder / "census.jsonl"):
        if row["case"] != case or row.get("census") not in ACCESSES:
            continue
        line = table.at(row["pc"]) or 0
        total = totals.setdefault(
            (line, row["census"]), {"line": line, "access": row["census"]}
        )
        for key, value in row.items():
            if key not in ("case", "census", "pc"):
                total[key] = total.get(key, 0) + value
    return [totals[key] for key in sorted(totals)]


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    case = None
    if not path.is_file():
        return
    for line in path.read_bytes().decode(errors="replace").splitlines(keepends=True):
        if not line.endswith("\n"):
            return  # its process was ended while it wrote
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            yield {"case": case, **SPOILED}
        elif set(row) == {"case"}:
            case = row["case"]
        else:
            yield {**row, "case": case}


def located_text(text: str, table: Lines) -> str:
    """AddressSanitizer's report with lines for the addresses in the arm's image."""

    def located(match: re.Match[str]) -> str:
        if not match[2].endswith("/kernel"):
            return match[0]
        line = table.at(int(match[3], 16) + 1)
        return f"{match[1]}/{table.file}:{line})"

    return FRAME.sub(located, text)
