"""How long the host backend takes: compile, checked runs, and a whole preflight.

Wall times of the harness on this machine's processor, never of a kernel. Writes
benchmarks/results/host_speed.json.

    python benchmarks/host_speed.py
"""

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from census_kernels import floats, recurrence, triad  # noqa: E402

from fivegates.host.compiler import find_compiler  # noqa: E402
from fivegates.host.runtime import runner  # noqa: E402
from host_runs import checked_images, compiled  # noqa: E402
from planted import Planted  # noqa: E402

TREE = ("Snakefile", "config", "kernels", "workflow")
REPEATS = 9
LIMITS = {
    "compile_arm_s": 0.6,
    "triad_checked_s": 0.5,
    "triad_memory_mb": 150,
    "softmax_checked_s": 0.1,
    "recurrent_checked_s": 0.1,
    "preflight_s": 15,
}


def softmax() -> Planted:
    """64 rows of 1000 columns, a block of 256 threads a row."""
    return Planted(
        name="softmax_shuffle",
        grid=(64, 1, 1),
        block=(256, 1, 1),
        inputs={"x": floats(64000)},
        outputs={"y": ("float32", 64000)},
        arguments=("x", "y", "int32 1000"),
    )


def recurrent() -> Planted:
    """8 sequences of 64 hidden units, 32 steps."""
    kernel = recurrence("recurrent_double_buffer")
    x = kernel.inputs["x"][: 8 * 32 * 64]
    return Planted(
        name=kernel.name,
        grid=kernel.grid,
        inputs={**kernel.inputs, "x": x},
        outputs=kernel.outputs,
        arguments=("weights", "x", "y", "int32 32"),
    )


def fastest(run: Callable[[], Any]) -> float:
    """The least of a few wall times, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def run_s(kernel: Planted) -> float:
    """Seconds of a checked run with its logs read, its compile not counted."""
    compiler = find_compiler()
    images = compiled(compiler, kernel, ("checked",)).images
    return fastest(lambda: checked_images(compiler, kernel, images))


def preflight_s() -> float:
    """Seconds of the whole pipeline in a fresh tree, the runtime built before."""
    with tempfile.TemporaryDirectory() as temporary:
        for name in TREE:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, Path(temporary, name))  # type: ignore[operator]
        command = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "all"]
        command += ["--workflow-profile", "workflow/profiles/default"]
        command += ["--config", "backend=host", "--", "results/receipt.json"]
        start = time.perf_counter()
        subprocess.run(command, cwd=temporary, check=True)
        return time.perf_counter() - start


def main() -> int:
    compiler = find_compiler()
    for address in (False, True):
        runner(compiler, address=address)
    large = triad("scalar", 3907)
    found = {
        "compile_arm_s": fastest(lambda: compiled(compiler, large, ("checked",))),
        "triad_checked_s": run_s(large),
        "triad_memory_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
        "softmax_checked_s": run_s(softmax()),
        "recurrent_checked_s": run_s(recurrent()),
        "preflight_s": preflight_s(),
    }
    document = {
        "compiler": compiler.version,
        "processors": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "found": {key: round(value, 3) for key, value in found.items()},
        "limits": LIMITS,
    }
    output = ROOT / "benchmarks/results/host_speed.json"
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    for key, value in found.items():
        print(f"{key:22} {value:8.3f}  limit {LIMITS[key]:g}")
    return int(any(value > LIMITS[key] for key, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
