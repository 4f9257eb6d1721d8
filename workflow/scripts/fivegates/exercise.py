"""Runs the cases of a job in child processes, and starts again behind a case that died.

The kernel never runs in this process: an illegal address or a segmentation fault costs
one case, a hang costs the gate.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fivegates.backend import Kind
from fivegates.claim import Tolerance
from fivegates.comparison import (
    Comparison,
    distinct,
    judged_in_place,
    never_written,
    worst,
)
from fivegates.contract import Arrays, Expected
from fivegates.errors import ClaimError, ToolError
from fivegates.host.compiler import find_compiler
from fivegates.host.folder import write_host_file
from fivegates.host.runtime import runner
from fivegates.job import (
    JOB_FILE,
    REPORT_FILE,
    CaseReport,
    Job,
    Report,
    input_file,
    output_file,
    parse_report,
    to_text,
)
from fivegates.process import Completed, run

REFUSED = "runner: "
EXERCISE_SCRIPT = Path(__file__).parents[1] / "exercise_kernel.py"


@dataclass(frozen=True, kw_only=True, slots=True)
class Exercised:
    """The cases that were answered, and whether time ran out before the rest were."""

    cases: tuple[CaseReport, ...]
    timed_out: bool


def prepare(folder: Path, job: Job, binary: bytes, inputs: Iterable[Arrays]) -> None:
    """Write a job's folder: the binary, and the inputs of each case in turn.

    ValueError for an input that does not fill its buffer.
    """
    program = folder / job.binary
    program.write_bytes(binary)
    program.chmod(0o700)
    for case, arrays in zip(job.cases, inputs, strict=True):
        for name, array in arrays.items():
            if array.nbytes != case.inputs[name]:
                raise ValueError(
                    f"case {case.index}: {name} has {array.nbytes} bytes, "
                    f"expected {case.inputs[name]}"
                )
            array.tofile(folder / input_file(case.index, name))


def launcher(
    kind: Kind, folder: Path, *, fill_shared: bool = False
) -> list[str | Path]:
    """The command that runs a prepared job: the kernel's own process.

    `fill_shared` fills a device's shared memory before each launch; the host's always
    is. Tools of gate 2 would look at those launches, too.
    """
    if kind == "host":
        return [runner(find_compiler(), address=False), folder]
    options = ["--fill-shared"] if fill_shared else []
    return [sys.executable, EXERCISE_SCRIPT, *options, folder]


def write_job(folder: Path, job: Job) -> None:
    """Write the job file and forget the report of the run before."""
    (folder / JOB_FILE).write_text(to_text(job))
    (folder / REPORT_FILE).unlink(missing_ok=True)


def read_report(folder: Path) -> Report:
    """What the process answered; nothing, when it did not come to write."""
    path = folder / REPORT_FILE
    return parse_report(path.read_text() if path.is_file() else "")


def compare_outputs(
    folder: Path,
    report: CaseReport,
    expected: Expected,
    tolerance: Tolerance,
) -> dict[str, Comparison]:
    """Each output of an answered case against its oracle: the worst of its variants."""
    if report.error is not None or report.limit is not None:
        return {}
    compared = {}
    for name, right in expected.items():
        outputs = read_outputs(folder, report, name, right.dtype)
        found = [judged_in_place(y, right, tolerance) for y in distinct(outputs, right)]
        compared[name] = worst(found) if found else never_written(right.values)
    return compared


def read_outputs(
    folder: Path, report: CaseReport, name: str, dtype: str
) -> list[np.ndarray]:
    """What each distinct result of a case left in one output's allocation, flat."""
    return [
        np.fromfile(folder / output_file(report.index, name, variant), dtype=dtype)
        for variant in sorted(set(report.variants))
    ]


def exercise(kind: Kind, folder: Path, job: Job, timeout_s: float) -> Exercised:
    """Run every case of a prepared job; a case that kills its process has an error.

    ClaimError when the launch does not pass what the kernel takes.
    """
    answered: list[CaseReport] = []
    remaining = job
    while remaining.cases:
        write_job(folder, remaining)
        command = launcher(kind, folder, fill_shared=True)
        completed = run(command, timeout_s=timeout_s)
        report = read_report(folder)
        answered += report.cases
        if report.done and completed.exit_status == 0:
            break
        if completed.exit_status is None:
            # A process that does not end has not answered its last case.
            return Exercised(
                cases=tuple(answered[: len(job.cases) - 1]), timed_out=True
            )
        left = remaining.cases[len(report.cases) :]
        if not (report.cases and report.cases[-1].error):
            # It died in the first case without an answer, or behind the last answer.
            culprit = left[0].index if left else answered.pop().index
            answered.append(_died(culprit, completed))
            left = left[1:]
        remaining = replace(job, cases=left)
    return Exercised(cases=tuple(answered), timed_out=False)


def exercise_once(
    kind: Kind,
    folder: Path,
    job: Job,
    binary: bytes,
    inputs: Iterable[Arrays],
    *,
    source: str,
    timeout_s: float,
) -> Exercised:
    """Prepare a folder that is not there yet, and run every case of the job in it."""
    folder.mkdir()
    prepare(folder, job, binary, inputs)
    if kind == "host":
        write_host_file(folder, binary, source, mode="values")
    return exercise(kind, folder, job, timeout_s)


def _died(index: int, completed: Completed) -> CaseReport:
    if completed.last_words.startswith(REFUSED):
        raise ClaimError(completed.last_words.removeprefix(REFUSED))
    if completed.signal_name is None:
        raise ToolError(f"exercise: {completed.last_words}")
    return CaseReport(
        index=index,
        variants=(),
        changed_inputs=(),
        limit=None,
        error=f"process ended by {completed.signal_name}",
    )
