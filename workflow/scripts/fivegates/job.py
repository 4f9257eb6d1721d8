"""What a process that launches a kernel is told, and what it says back.

One text format serves both backends: `exercise_kernel.py` reads it on a device, the C++
runner on the host. Files are named relative to the job's folder.

    binary BINARY                                              entry ENTRY
    case INDEX launches COUNT poison 0|1 shared BYTES grid X Y Z block X Y Z
    input NAME BYTES                file INDEX.NAME.bin holds its bytes
    output NAME BYTES               variant V is written to INDEX.NAME.V.bin
    pass buffer NAME [BYTE] | pass TYPE VALUE   one a kernel parameter, in order

The answer is a JSON line a case, then {"done": true}. Launches of a case whose outputs
are equal bit for bit share a variant.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fivegates.arm import Argument, Launch

JOB_FILE = "job.txt"
REPORT_FILE = "report.jsonl"
POISON_BYTE = 0xFF
# Of shared memory, a launch each in turn: NaN, a large number, its negative and zero in
# every float format. What nobody has set then differs from launch to launch, and none
# of the four is neutral to all arithmetic. `host/checker.cpp` has them, too.
SHARED_FILLS = (0xFF, 0x7B, 0xFB, 0x00)


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseJob:
    """One case to launch. Buffer sizes are exact, in bytes.

    `poison` fills outputs with 0xff bytes before each launch (NaN in every float
    format); without it they stay uninitialised, as initcheck needs them, and are not
    read back: what a kernel leaves unwritten is gate 1's to find. Shared memory is
    filled by the host always, by a device where its process is told so.
    """

    index: int
    launches: int
    poison: bool
    launch: Launch
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A binary, the symbol of its kernel, and the cases to launch it on."""

    binary: str
    entry: str
    cases: tuple[CaseJob, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseReport:
    """What happened to one case.

    `variants[k]` numbers the output of launch k by first appearance; `changed_inputs`
    names inputs whose bytes differ afterwards; `error` is a launch or driver error,
    `limit` what the host backend does not let a kernel do.
    """

    index: int
    variants: tuple[int, ...]
    changed_inputs: tuple[str, ...]
    error: str | None
    limit: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The cases that were answered, and whether the process reached its end.

    `sanitizer_reports` is the host runner's own count, None where it did not get to it.
    """

    cases: tuple[CaseReport, ...]
    done: bool
    sanitizer_reports: int | None


def input_file(index: int, name: str) -> str:
    """File of one input operand."""
    return f"{index}.{name}.bin"


def output_file(index: int, name: str, variant: int) -> str:
    """File of one output operand, for one distinct result."""
    return f"{index}.{name}.{variant}.bin"


def to_text(job: Job) -> str:
    """The job file."""
    return (
        "\n".join([f"binary {job.binary}", f"entry {job.entry}", *_lines(job.cases)])
        + "\n"
    )


def _lines(cases: Iterable[CaseJob]) -> Iterator[str]:
    for case in cases:
        launch = case.launch
        yield (
            f"case {case.index} launches {case.launches} poison {int(case.poison)} "
            f"shared {launch.dynamic_shared_bytes} "
            f"grid {' '.join(map(str, launch.grid))} "
            f"block {' '.join(map(str, launch.block))}"
        )
        for name, size in case.inputs.items():
            yield f"input {name} {size}"
        for name, size in case.outputs.items():
            yield f"output {name} {size}"
        for argument in launch.arguments:
            if argument.kind == "buffer":
                start = "" if argument.value is None else f" {argument.value}"
                yield f"pass buffer {argument.name}{start}"
            else:
                yield f"pass {argument.name} {argument.value!r}"


def from_text(text: str) -> Job:
    """Read what `to_text` wrote."""
    header, *blocks = text.split("\ncase ")
    binary, entry = (line.split(" ", 1)[1] for line in header.splitlines())
    return Job(binary=binary, entry=entry, cases=tuple(map(_case, blocks)))


def _case(block: str) -> CaseJob:
    head, *lines = block.splitlines()
    words = head.split()
    rows = [line.split() for line in lines]
    numbers = list(map(int, words[8:11] + words[12:15]))
    return CaseJob(
        index=int(words[0]),
        launches=int(words[2]),
        poison=words[4] == "1",
        launch=Launch(
            grid=(numbers[0], numbers[1], numbers[2]),
            block=(numbers[3], numbers[4], numbers[5]),
            dynamic_shared_bytes=int(words[6]),
            arguments=tuple(_argument(row) for row in rows if row[0] == "pass"),
        ),
        inputs={row[1]: int(row[2]) for row in rows if row[0] == "input"},
        outputs={row[1]: int(row[2]) for row in rows if row[0] == "output"},
    )


def _argument(row: list[str]) -> Argument:
    _, kind, value, *start = row
    if kind == "buffer":
        return Argument(
            kind="buffer", name=value, value=int(start[0]) if start else None
        )
    number = float(value) if kind.startswith("float") else int(value)
    return Argument(kind="scalar", name=kind, value=number)


def report_line(report: CaseReport) -> str:
    """The JSON line that answers one case."""
    return json.dumps(
        {
            "case": report.index,
            "variants": report.variants,
            "changed_inputs": report.changed_inputs,
            "error": report.error,
            "limit": report.limit,
        }
    )


def parse_report(text: str) -> Report:
    """Read a report; a line cut off by the end of its process is not an answer."""
    cases, done, reports = [], False, None
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        data = json.loads(line)
        if data.get("done"):
            done, reports = True, data.get("sanitizer_reports")
            continue
        cases.append(
            CaseReport(
                index=data["case"],
                variants=tuple(data["variants"]),
                changed_inputs=tuple(data["changed_inputs"]),
                error=data["error"],
                limit=data["limit"],
            )
        )
    return Report(cases=tuple(cases), done=done, sanitizer_reports=reports)
