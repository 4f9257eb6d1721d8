"""What sanitizers write, read into findings: XML records, summary lines, reports.

Nothing is judged here. What cannot be read whole is None, never an empty list.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ERROR_SUMMARY = re.compile(r"^========= ERROR SUMMARY: ([\d,]+) errors?$", re.M)
NOT_PRINTED = re.compile(r"ERROR SUMMARY: ([\d,]+) errors? (?:were|was) not printed")
RACE_SUMMARY = re.compile(
    r"^========= RACECHECK SUMMARY: ([\d,]+) hazards? displayed "
    r"\(([\d,]+) errors?, ([\d,]+) warnings?\)$",
    re.M,
)
ASAN_ERROR = re.compile(r"ERROR: AddressSanitizer: ([\w-]+)")
ASAN_ACCESS = re.compile(r"(READ|WRITE) of size \d+")
ASAN_FRAME = re.compile(r"\s+#\d+ \S+\s+\(/([^()]+):(\d+)\)")
BY_THREAD = re.compile(
    r"==fivegates== kernel=(.*) block=\(([\d,]+)\) thread=\(([\d,]+)\)"
)
NOBODY: Mapping[str, Any] = {"kernel": None, "block": None, "thread": None}
Position = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One place that a tool complains of. Fields the tool does not give are None."""

    check: str
    level: str
    text: str
    kernel: str | None
    file: str | None
    line: int | None
    block: Position | None
    thread: Position | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The totals that a tool's text ends with."""

    errors: int
    warnings: int
    not_printed: int


def parse_xml(data: str) -> tuple[Finding, ...] | None:
    """Findings of a compute-sanitizer XML file; None when it is not complete.

    The tool declares no document type; one could expand entities without end.
    """
    if "<!" in data:
        return None
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - no entities, see above
    except ElementTree.ParseError:
        return None
    if root.tag != "ComputeSanitizerOutput":
        return None
    return tuple(_finding(record) for record in root.iter("record"))


def _finding(record: ElementTree.Element) -> Finding:
    where = record.find(".//where")
    kind = record.findtext("kind", "unknown")
    line = None if where is None else where.findtext("line")
    path = None if where is None else where.findtext("path")
    text = record.findtext("what/text", "no text")
    if (detail := record.findtext("what/type")) is not None:
        text = f"{text}: {detail}"
    return Finding(
        check=kind,
        level=record.findtext("level", "Error"),
        text=text,
        kernel=None if where is None else where.findtext("func"),
        file=None if path is None else path.lstrip("/"),
        line=None if line is None else int(line),
        block=_position(record, "who/blockIdx", "what/common/blockIdx"),
        thread=_position(record, "who/threadIdx", "what/thread1/threadIdx"),
    )


def _position(record: ElementTree.Element, *paths: str) -> Position | None:
    for path in paths:
        node = record.find(path)
        if node is not None:
            x, y, z = (int(node.findtext(axis, "0")) for axis in "xyz")
            return x, y, z
    return None


def parse_summary(tool: str, text: str) -> Summary | None:
    """Totals of a compute-sanitizer log; None unless it holds its one summary line."""
    pattern = RACE_SUMMARY if tool == "racecheck" else ERROR_SUMMARY
    found = pattern.findall(text)
    if not found:
        return None
    if tool == "racecheck":
        errors = sum(_number(row[1]) for row in found)
        warnings = sum(_number(row[2]) for row in found)
    else:
        errors, warnings = sum(map(_number, found)), 0
    hidden = sum(map(_number, NOT_PRINTED.findall(text)))
    return Summary(errors=errors, warnings=warnings, not_printed=hidden)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def parse_address_text(text: str) -> tuple[Finding, ...]:
    """Findings in AddressSanitizer's text, each with the runner's line behind it.

    That line names kernel, block and thread, which AddressSanitizer does not know.
    """
    findings: list[Finding] = []
    pending: dict[str, Any] = {}
    for line in text.splitlines():
        if match := ASAN_ERROR.search(line):
            if pending:
                findings.append(_overrun(pending))
            pending = {"text": match[1], "file": None, "line": None}
        elif pending and (match := BY_THREAD.match(line)):
            who = {"block": _numbers(match[2]), "thread": _numbers(match[3])}
            findings.append(_overrun(pending | {"kernel": match[1]} | who))
            pending = {}
        elif pending and (match := ASAN_ACCESS.match(line)):
            pending["text"] += f", {match[0]}"
        elif pending and not pending["file"] and (match := ASAN_FRAME.match(line)):
            pending |= {"file": match[1], "line": int(match[2])}
    if pending:
        findings.append(_overrun(pending))
    return tuple(findings)


def _overrun(report: Mapping[str, Any]) -> Finding:
    return Finding(check="memcheck", level="Error", **{**NOBODY, **report})


def _numbers(text: str) -> Position:
    x, y, z = map(int, text.split(","))
    return x, y, z


def place(finding: Mapping[str, Any]) -> str:
    """A finding in one line: its text, kernel, file, line, block and thread."""
    parts = [f'"{finding["text"]}"']
    if finding["kernel"]:
        parts.append(f"in {finding['kernel']}")
    if finding["file"]:
        parts.append(f"at {finding['file']}:{finding['line']}")
    if finding["block"] is not None:
        parts.append(f"block {_triple(finding['block'])}")
    if finding["thread"] is not None:
        parts.append(f"thread {_triple(finding['thread'])}")
    return " ".join(parts)


def _triple(position: Sequence[int]) -> str:
    return f"({','.join(map(str, position))})"
