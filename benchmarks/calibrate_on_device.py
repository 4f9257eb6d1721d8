"""What a GPU and its tools say of the kernels that the host's checker is tried on.

Runs where an NVIDIA device is: every kernel of tests/planted.py under the four tools of
compute-sanitizer, the recurrent kernels 20 times, and the kernels of the access census
under Nsight Compute. Writes calibration.json and the counters as they came.

    python benchmarks/calibrate_on_device.py --output tests/data/calibration
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from census_kernels import (  # noqa: E402
    COUNTED,
    METRICS,
    RECURRENT,
    label,
    recurrent_states,
)

from fivegates import device  # noqa: E402
from fivegates.checked_run import checker  # noqa: E402
from fivegates.claim import SanitizerPolicy  # noqa: E402
from fivegates.exercise import (  # noqa: E402
    EXERCISE_SCRIPT,
    exercise,
    prepare,
    read_outputs,
    write_job,
)
from fivegates.launch import compile_source  # noqa: E402
from fivegates.sanitizer import TOOLS, derive, judge  # noqa: E402
from host_runs import job_of  # noqa: E402
from planted import PLANTED, Planted  # noqa: E402

POLICY = SanitizerPolicy(padding_bytes=32, timeout_s=20)
LAUNCHES = 20


def cubin(kernel: Planted, architecture: str) -> bytes:
    source = (ROOT / kernel.path).read_text()
    compiled = compile_source(
        source,
        name=kernel.path,
        entry=kernel.name,
        options=("--std=c++17",),
        architecture=architecture,
    )
    return compiled.cubin


def sanitized(kernel: Planted, binary: bytes, tool: str) -> dict[str, Any]:
    """One tool on one kernel: its verdict and what it counted."""
    checked = checker(tool, POLICY)
    trial = job_of(kernel, poison=checked.poison)
    measured, logs = checked.run(tool, trial, binary, [kernel.inputs])
    texts = {name: data.decode(errors="replace") for name, data in logs.items()}
    found = derive(tool, [measured], texts)
    if not found:
        return {"status": "timeout"}
    verdict = judge(found[0])
    keys = ("device_errors", "device_warnings", "text_errors", "exit_status")
    return {
        "status": verdict.status,
        "reason": str(verdict.reason),
        **{key: found[0][key] for key in keys},
        "lines": sorted({f["line"] for f in found[0]["findings"] if f["line"]}),
    }


def repeated(kernel: Planted, binary: bytes) -> dict[str, Any]:
    """The same launch many times: how many outputs, and how far from the reference."""
    trial = job_of(kernel, launches=LAUNCHES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder, trial, binary, [kernel.inputs])
        (report,) = exercise("cuda", folder, trial, 60).cases
        found = read_outputs(folder, report, "y", "float32")
    right = recurrent_states(kernel)
    errors = [float(np.abs(y - right).max()) for y in found]
    return {
        "launches": len(report.variants),
        "distinct_outputs": len(set(report.variants)),
        "max_abs_error": max(errors),
        "steps": int(kernel.arguments[-1].split()[1]),
        "blocks": kernel.grid[0],
        "threads": kernel.block[0],
    }


def counters(kernel: Planted, binary: bytes) -> str:
    """Nsight Compute's counters of one launch, as CSV."""
    trial = job_of(kernel)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder, trial, binary, [kernel.inputs])
        write_job(folder, trial)
        command = ["ncu", "--csv", "--page", "raw", "--metrics", ",".join(METRICS)]
        command += [sys.executable, str(EXERCISE_SCRIPT), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [row for row in done.stdout.splitlines() if row.startswith('"')]
    if not rows:
        raise SystemExit(f"ncu: {done.stdout[-400:]} {done.stderr[-400:]}")
    return "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    found = device.identify()
    chosen = (*PLANTED, *COUNTED, *RECURRENT)
    binaries = {k.name: cubin(k, found.architecture) for k in chosen}
    pairs = [(kernel, tool) for kernel in PLANTED for tool in TOOLS]
    with ThreadPoolExecutor(max_workers=8) as pool:
        results = pool.map(lambda p: sanitized(p[0], binaries[p[0].name], p[1]), pairs)
        kernels: dict[str, dict[str, Any]] = {}
        for (kernel, tool), result in zip(pairs, results, strict=True):
            kernels.setdefault(kernel.name, {})[tool] = result
    document = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "device": found.gpu_name,
        "driver": found.driver,
        "sanitizer": checker("memcheck", POLICY).identity,
        "kernels": kernels,
        "recurrent": {
            kernel.name: {
                **repeated(kernel, binaries[kernel.name]),
                "racecheck": sanitized(kernel, binaries[kernel.name], "racecheck"),
            }
            for kernel in RECURRENT
        },
    }
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    (output / "calibration.json").write_text(text)
    for kernel in COUNTED if shutil.which("ncu") else ():
        counted = counters(kernel, binaries[kernel.name])
        (output / f"ncu-{label(kernel)}.csv").write_text(counted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
