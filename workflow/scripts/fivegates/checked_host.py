"""One kernel under the checker, and under AddressSanitizer: runs and their logs."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fivegates.checking import ADDRESS, ADDRESS_LOG, CENSUS_LOG, CHECKED, CHECKED_LOG
from fivegates.contract import Arrays
from fivegates.exercise import prepare, read_report, write_job
from fivegates.host.compiler import Compiler
from fivegates.host.folder import (
    Mode,
    located_text,
    read_census,
    read_findings,
    write_host_file,
)
from fivegates.host.runtime import runner, sources_sha256
from fivegates.host.symbols import lines
from fivegates.job import Job
from fivegates.process import Completed, portable, run

MODES: Mapping[str, Mode] = {CHECKED: "checked", ADDRESS: "address"}
TEXT_BYTES = 1 << 20

Runs = tuple[list[dict[str, Any]], dict[str, bytes]]


def check(
    compiler: Compiler,
    images: Mapping[str, bytes],
    *,
    source: str,
    file: str,
    job: Job,
    inputs: Sequence[Arrays],
    timeout_s: float,
    census_of: int | None = None,
) -> Runs:
    """Run a job under each flavour of `images` that checks: runs, logs by file name.

    `file` is the source's path. Accesses of the case `census_of` are counted too, but
    under clang, which splits a float4 into its components before it calls the checker.
    """
    if compiler.family != "gcc":
        census_of = None
    runs: list[dict[str, Any]] = []
    logs = {CENSUS_LOG: b""}
    for flavour in (CHECKED, ADDRESS):
        if flavour not in images:
            continue
        image = images[flavour]
        table = lines(image, file)
        with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
            folder = Path(temporary)
            prepare(folder, job, image, inputs)
            counts = flavour == CHECKED and census_of is not None
            write_host_file(folder, image, source, mode=MODES[flavour], census=counts)
            write_job(folder, job)
            measured, errors = _run(compiler, flavour, folder, job, timeout_s)
            runs.append(measured)
            if flavour == ADDRESS:
                logs[ADDRESS_LOG] = located_text(errors, table).encode()
                continue
            logs[CHECKED_LOG] = _lines(read_findings(folder, table))
            if census_of is not None:
                logs[CENSUS_LOG] = _lines(read_census(folder, table, census_of))
    return runs, logs


def _run(
    compiler: Compiler, flavour: str, folder: Path, job: Job, timeout_s: float
) -> tuple[dict[str, Any], str]:
    """One run of a prepared folder: what was measured, and its standard error."""
    program = runner(compiler, address=flavour == ADDRESS)
    command = [program, folder]
    completed = run(
        command, timeout_s=timeout_s, file_bytes=_room(job), errors_bytes=TEXT_BYTES
    )
    words = portable(command, {str(folder): "JOB", str(program): "runner"})
    return _measured(flavour, words, completed, folder), completed.stderr


def _room(job: Job) -> int:
    """Bytes that no file of a run exceeds: an output, or a megabyte of text a case."""
    largest = max((max(c.outputs.values(), default=0) for c in job.cases), default=0)
    return max(largest, (TEXT_BYTES + 4096) * max(len(job.cases), 1))


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode()


def _measured(
    flavour: str, command: Sequence[str], completed: Completed, folder: Path
) -> dict[str, Any]:
    report = read_report(folder)
    limits = [case.limit for case in report.cases if case.limit]
    return {
        "name": flavour,
        "command": list(command),
        "exit_status": completed.exit_status,
        "completed": report.done,
        "reports": report.sanitizer_reports,
        "launches": sum(len(case.variants) for case in report.cases),
        "limit": limits[0] if limits else None,
        "errors": [case.error for case in report.cases if case.error],
        "last_words": "" if report.done else completed.last_words,
    }


def identity(compiler: Compiler) -> dict[str, Any]:
    """The checker as a record names it: its own code, and who compiled it."""
    return {
        "name": "fivegates host checker",
        "version": compiler.version,
        "sha256": sources_sha256(),
    }
