"""Compilers of this machine, and one kernel run under the host's checker."""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fivegates.arm import Argument, Launch
from fivegates.checked_host import check
from fivegates.checking import CENSUS_LOG, CHECKED_LOG, CHECKS, derive
from fivegates.constructs import needs_cuda_headers
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.headers import include_folder
from fivegates.host.build import compile_arm
from fivegates.host.compiler import Compiler, identified
from fivegates.host.folder import write_host_file
from fivegates.job import CaseJob, Job
from planted import Planted

ROOT = Path(__file__).parents[1]
CLANGS = ("clang++", *(f"clang++-{n}" for n in range(22, 13, -1)))


def compilers() -> dict[str, Compiler | None]:
    """By family; None where there is none."""
    gcc = shutil.which("g++")
    clang = next(filter(None, map(shutil.which, CLANGS)), None)
    zig = find_spec("ziglang") is not None
    return {
        "gcc": identified((gcc,)) if gcc else None,
        "clang": identified((clang,)) if clang else None,
        "zig": identified((sys.executable, "-m", "ziglang", "c++")) if zig else None,
    }


def argument(text: str) -> Argument:
    """`x`, or a type and its value: `uint64 1027`."""
    kind, _, value = text.partition(" ")
    if not value:
        return Argument(kind="buffer", name=kind, value=None)
    number = float(value) if kind.startswith("float") else int(value)
    return Argument(kind="scalar", name=kind, value=number)


def job_of(kernel: Planted, *, launches: int = 1, poison: bool = True) -> Job:
    case = CaseJob(
        index=0,
        launches=launches,
        poison=poison,
        launch=Launch(
            grid=kernel.grid,
            block=kernel.block,
            dynamic_shared_bytes=kernel.shared,
            arguments=tuple(map(argument, kernel.arguments)),
        ),
        inputs={name: array.nbytes for name, array in kernel.inputs.items()},
        outputs={
            name: np.dtype(dtype).itemsize * count
            for name, (dtype, count) in kernel.outputs.items()
        },
    )
    return Job(binary="kernel", entry=kernel.name, cases=(case,))


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """The runs of one kernel, and all findings of the checker by tool."""

    runs: list[dict[str, Any]]
    logs: dict[str, bytes]
    findings: dict[str, list[dict[str, Any]]]

    @property
    def all(self) -> list[dict[str, Any]]:
        return [finding for found in self.findings.values() for finding in found]


def compiled(compiler: Compiler, kernel: Planted, flavours: tuple[str, ...]) -> Any:
    source = (ROOT / kernel.path).read_text()
    headers = include_folder() if needs_cuda_headers(source) else None
    return compile_arm(
        compiler,
        source,
        name=kernel.path,
        entry=kernel.name,
        chosen=flavours,
        headers=headers,
    )


def checked(compiler: Compiler, kernel: Planted, *flavours: str) -> Checked:
    """Run a kernel under the checker, or under the flavours that are named."""
    built = compiled(compiler, kernel, flavours or ("checked",))
    assert built.refused is None
    return checked_images(compiler, kernel, built.images)


def checked_images(
    compiler: Compiler, kernel: Planted, images: Mapping[str, bytes]
) -> Checked:
    """Run what has been compiled."""
    runs, logs = check(
        compiler,
        images,
        source=(ROOT / kernel.path).read_text(),
        file=kernel.path,
        job=job_of(kernel),
        inputs=[kernel.inputs],
        timeout_s=60,
    )
    texts = {name: data.decode() for name, data in logs.items()}
    findings = {
        tool: derive(tool, runs[:1], texts, kernel.name)[0]["findings"]
        for tool in CHECKS
        if CHECKED_LOG in logs
    }
    return Checked(runs=runs, logs=logs, findings=findings)


def values(compiler: Compiler, kernel: Planted, folder: Path) -> dict[str, np.ndarray]:
    """The outputs of one launch of the build that is for values."""
    image = compiled(compiler, kernel, ("values",)).images["values"]
    trial = job_of(kernel)
    prepare(folder, trial, image, [kernel.inputs])
    source = (ROOT / kernel.path).read_text()
    write_host_file(folder, image, source, mode="values")
    (report,) = exercise("host", folder, trial, 60).cases
    assert (report.error, report.limit) == (None, None)
    return {
        name: read_outputs(folder, report, name, dtype)[0]
        for name, (dtype, _) in kernel.outputs.items()
    }


def census(compiler: Compiler, kernel: Planted) -> list[dict[str, Any]]:
    """Accesses of one launch by source line, as the runtime counted them."""
    built = compiled(compiler, kernel, ("checked",))
    _, logs = check(
        compiler,
        built.images,
        source=(ROOT / kernel.path).read_text(),
        file=kernel.path,
        job=job_of(kernel),
        inputs=[kernel.inputs],
        timeout_s=60,
        census_of=0,
    )
    return [json.loads(row) for row in logs[CENSUS_LOG].splitlines()]
