"""Record what compute-sanitizer says of known kernels, for tests/test_sanitizer.py.

Run on a machine with a device, from the repository's root:

    PYTHONPATH=workflow/scripts python tests/gpu/record_sanitizer_logs.py

Writes tests/data/compute-sanitizer/<version>/<name>.{txt,xml,json}, unedited.
"""

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from fivegates.arm import Argument, Launch
from fivegates.checked_run import Checker, checker
from fivegates.claim import SanitizerPolicy
from fivegates.device import identify
from fivegates.job import CaseJob, Job
from fivegates.launch import compile_source
from fivegates.process import run
from fivegates.tools import sanitizer_command

DATA = Path("tests/data/compute-sanitizer")
POLICY = SanitizerPolicy(padding_bytes=1024, timeout_s=120)
ELEMENTS = 250

# name, check, source: a control is `control_<stem>`, a test kernel its stem
KERNELS = (
    ("memcheck-control", "memcheck", "kernels/controls/memcheck.cu"),
    ("racecheck-control", "racecheck", "kernels/controls/racecheck.cu"),
    ("initcheck-control", "initcheck", "kernels/controls/initcheck.cu"),
    ("synccheck-control", "synccheck", "kernels/controls/synccheck.cu"),
    ("memcheck-clean", "memcheck", "kernels/controls/initcheck.cu"),
    ("racecheck-clean", "racecheck", "kernels/controls/memcheck.cu"),
    ("racecheck-warning", "racecheck", "tests/kernels/shared_race_in_warp.cu"),
    ("memcheck-truncated", "memcheck", "tests/kernels/overrun_133.cu"),
)
PROCESSES = (
    ("memcheck-no-process", ["sh", "-c", "true"]),
    (
        "memcheck-process-failed",
        [sys.executable, "-c", "import cupy; cupy.zeros(3); raise SystemExit(3)"],
    ),
)


def kernel_job(entry: str, poison: bool, blocks: int) -> Job:
    launch = Launch(
        grid=(blocks, 1, 1),
        block=(256, 1, 1),
        dynamic_shared_bytes=0,
        arguments=(
            Argument(kind="buffer", name="y", value=None),
            Argument(kind="scalar", name="uint64", value=ELEMENTS),
        ),
    )
    case = CaseJob(
        index=0,
        launches=1,
        poison=poison,
        launch=launch,
        inputs={},
        outputs={"y": 4 * ELEMENTS},
    )
    return Job(binary="kernel", entry=entry, cases=(case,))


def record_kernel(name: str, check: Checker, source: str, folder: Path) -> None:
    path = Path(source)
    entry = path.stem if "tests" in path.parts else f"control_{path.stem}"
    compiled = compile_source(
        path.read_text(),
        name=source,
        entry=entry,
        options=("--std=c++17",),
        architecture=identify().architecture,
    )
    job = kernel_job(compiled.symbol, check.poison, blocks=2)
    measured, logs = check.run(name, job, compiled.cubin, [{}])
    for file, data in logs.items():
        (folder / file).write_bytes(data)
    (folder / f"{name}.json").write_text(json.dumps(measured, indent=2) + "\n")


def record_process(name: str, check: Checker, command: list[str], folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        xml = Path(temporary) / "report.xml"
        prefix = sanitizer_command(check.tool, "memcheck", xml=xml, padding_bytes=32)
        completed = run([*prefix, *command], timeout_s=POLICY.timeout_s)
        if xml.is_file():
            (folder / f"{name}.xml").write_bytes(xml.read_bytes())
    (folder / f"{name}.txt").write_text(completed.stdout)
    measured = {"name": name, "exit_status": completed.exit_status, "completed": False}
    (folder / f"{name}.json").write_text(json.dumps(measured, indent=2) + "\n")


def main() -> None:
    memcheck = checker("memcheck", POLICY)
    folder = DATA / memcheck.tool.version.split()[0]
    folder.mkdir(parents=True, exist_ok=True)
    for name, check, source in KERNELS:
        record_kernel(name, replace(memcheck, check=check), source, folder)
    for name, command in PROCESSES:
        record_process(name, memcheck, command, folder)


if __name__ == "__main__":
    main()
