"""What each timing method says of the same two kernels, repeat after repeat.

Both arms of the claim triad-vec4, n = 1,000,003, through 13 rotated sets of buffers.
A repeat measures the ratio baseline / candidate once by every method, each in a new
process; repeat k of every method comes before repeat k + 1 of any.

    python benchmarks/timing_peers.py --results results --output FILE.json
"""

import argparse
import json
import math
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cupy
import gate_sessions
import numpy as np
from timing_methods import METHODS, Subject, measure

ROOT = Path(__file__).parents[1]
N = 1_000_003
# 156 MB: more than twice the 60 MiB of an H200's L2.
SLOTS = 13
ALPHA = 1.25
BLOCK = 256
SEED = 7
# Entry: source, and threads at n. Baseline first.
ARMS = {
    "triad_scalar": ("kernels/triad/scalar.cu", N),
    "triad_vec4": ("kernels/triad/vec4.cu", N // 4 + N % 4),
}
FACTORY = "timing_peers:subjects"
OURS = "fivegates"
CLAIM = "triad-vec4"
# Sessions that no pipeline has planned.
FIRST_NUMBER = 70
PACKAGES = (
    "cuda-bench",
    "cupti-python",
    "cupy-cuda13x",
    "numpy",
    "nvidia-cuda-cupti",
    "torch",
    "triton",
)

# Baseline us, candidate us, baseline / candidate.
Row = tuple[float, float, float]


def subjects() -> list[Subject]:
    """Both arms over the same sets of buffers."""
    draw = np.random.default_rng(SEED)
    operands = []
    for _ in range(SLOTS):
        x, z = (cupy.asarray(draw.random(N, dtype=np.float32)) for _ in range(2))
        y = cupy.empty(N, np.float32)
        operands.append((x, z, y, np.uint64(N), np.float32(ALPHA)))
    cupy.cuda.Device().synchronize()
    return [arm(entry, *of_arm, operands) for entry, of_arm in ARMS.items()]


def arm(entry: str, source: str, threads: int, operands: Sequence[Any]) -> Subject:
    """One arm, compiled as its claim says."""
    code = (ROOT / source).read_text()
    module = cupy.RawModule(code=code, options=("--std=c++17",))
    kernel = module.get_function(entry)
    grid = (math.ceil(threads / BLOCK),)

    def launch(number: int, stream: Any) -> None:
        kernel(grid, (BLOCK,), operands[number % SLOTS], stream=stream)

    return Subject(name=entry, launch=launch)


def ours(folder: Path, repeat: int) -> Row:
    """One session of gate 3, as the pipeline times it."""
    said = gate_sessions.session(folder, FIRST_NUMBER + repeat)
    times = (said[role]["median_us"] for role in gate_sessions.ROLES)
    return (*times, said["speedup"]["estimate"])


def repeat_once(method: str, folder: Path, repeat: int) -> Row:
    if method == OURS:
        return ours(folder, repeat)
    us = measure(method, FACTORY)["us"]
    baseline, candidate = (us[entry] for entry in ARMS)
    return baseline, candidate, baseline / candidate


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """What one method said; needs two repeats."""
    baselines, candidates, ratios = (list(column) for column in zip(*rows, strict=True))
    return {
        "baseline_us": statistics.median(baselines),
        "baselines_us": baselines,
        "candidate_us": statistics.median(candidates),
        "candidates_us": candidates,
        "log_ratio_sd": statistics.stdev(math.log(ratio) for ratio in ratios),
        "ratio_max": max(ratios),
        "ratio_median": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratios": ratios,
        "ratios_below_one": sum(ratio < 1 for ratio in ratios),
    }


def table(methods: Mapping[str, Mapping[str, Any]]) -> str:
    """A line a method, aligned; times in microseconds a launch."""
    columns = ("scalar us", "vec4 us", "ratio", "least", "most", "log sd", "below 1")
    lines = [f"{'method':<16}" + "".join(f"{name:>10}" for name in columns)]
    for name, said in methods.items():
        times = (said["baseline_us"], said["candidate_us"])
        ratios = (said["ratio_median"], said["ratio_min"], said["ratio_max"])
        below = f"{said['ratios_below_one']}/{len(said['ratios'])}"
        lines.append(
            f"{name:<16}"
            + "".join(f"{us:>10.3f}" for us in times)
            + "".join(f"{ratio:>10.4f}" for ratio in ratios)
            + f"{said['log_ratio_sd']:>10.5f}{below:>10}"
        )
    return "\n".join(lines)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = (*METHODS, OURS)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--methods", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--results", type=Path, required=True, help="with triad-vec4 judged here"
    )
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.repeats < 2:
        parser.error(f"--repeats is {arguments.repeats}, expected at least 2")
    return arguments


def main() -> int:
    arguments = parse_args()
    document: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "packages": {name: version(name) for name in PACKAGES},
        "python": platform.python_version(),
        "n": N,
        "slots": SLOTS,
        # One unrecorded measurement: it fills CuPy's cache of compiled kernels.
        "gpu": measure("plain_loop", FACTORY)["gpu"],
    }
    rows: dict[str, list[Row]] = {method: [] for method in arguments.methods}
    for repeat in range(arguments.repeats):
        for method, said in rows.items():
            said.append(repeat_once(method, arguments.results / CLAIM, repeat))
        if repeat:
            document["methods"] = {name: summary(said) for name, said in rows.items()}
            text = json.dumps(document, indent=2, sort_keys=True) + "\n"
            arguments.output.write_text(text)
    print(table(document["methods"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
