"""How others time one kernel launch, a function a method, on the same CuPy kernels.

Each method measures in a process of its own, which builds the kernels anew: no tracer,
context or buffer of one method is there when another measures, and the caller needs no
CUDA context. Nothing here compares: timing_peers.py does.

    python benchmarks/timing_methods.py METHOD MODULE:FUNCTION OUTPUT.json
"""

import argparse
import ctypes
import importlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import cupy
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts")]

from fivegates import device  # noqa: E402

SAMPLES = 1000
WARMUP_S = 0.25
NVBENCH_MIN_TIME_S = 0.1
CUPTI_BUFFER_BYTES = 8 * 1024 * 1024
CUPTI_LIBRARY = "nvidia/cu13/lib/libcupti.so.13"
CHILD_LIMIT_S = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One kernel; `launch` queues launch number i of it on a CuPy stream."""

    name: str
    launch: Callable[[int, Any], None]


def plain_loop(subject: Subject, samples: int) -> float:
    """Median us of record, launch, record, synchronize from Python."""
    stream = cupy.cuda.Stream(non_blocking=True)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    elapsed = []
    for number in range(samples):
        start.record(stream)
        subject.launch(number, stream)
        stop.record(stream)
        stop.synchronize()
        elapsed.append(1e3 * cupy.cuda.get_elapsed_time(start, stop))
    return statistics.median(elapsed)


def cupyx_benchmark(subject: Subject, samples: int) -> float:
    """Median us of `cupyx.profiler.benchmark`, on the current stream as it asks for."""
    from cupyx.profiler import benchmark

    stream, numbers = cupy.cuda.get_current_stream(), itertools.count()
    times = benchmark(
        lambda: subject.launch(next(numbers), stream), n_repeat=samples
    ).gpu_times
    return 1e6 * float(np.median(times))


def do_bench(subject: Subject) -> float:
    """Median us of Triton's `do_bench`, which clears 256 MB before each launch."""
    import torch
    from triton import testing

    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    numbers = itertools.count()
    return 1e3 * testing.do_bench(
        lambda: subject.launch(next(numbers), stream), return_mode="median"
    )


def nvbench(subjects: Sequence[Subject]) -> dict[str, float]:
    """Median us of NVBench's cold samples: one run, a state a subject in their order.

    NVBench keeps its benchmarks in the process and runs them once. A state in which the
    launch raised is skipped without a word, so that is asked for.
    """
    from cuda import bench
    from cuda.bench.results import BenchmarkResult

    by_name = {subject.name: subject for subject in subjects}

    def arms(state: Any) -> None:
        subject, numbers = by_name[state.get_string("arm")], itertools.count()

        def launch(launched: Any) -> None:
            stream = cupy.cuda.ExternalStream(launched.get_stream().addressof())
            subject.launch(next(numbers), stream)

        state.exec(launch, batched=False)

    bench.register(arms).add_string_axis("arm", list(by_name))
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "nvbench.json")
        words = ["--quiet", "--devices", "0", "--min-time", str(NVBENCH_MIN_TIME_S)]
        bench.run_all_benchmarks(["nvbench", *words, "--jsonbin", file])
        states = list(BenchmarkResult.from_json(file)["arms"])
    for state in states:
        if not state.samples:
            raise SystemExit(
                f"nvbench, {state.name()}: no samples: {state.skip_reason}"
            )
    return {s.point["arm"]: 1e6 * statistics.median(s.samples) for s in states}


def cupti_durations(
    subjects: Sequence[Subject], launches: int
) -> dict[str, np.ndarray]:
    """Kernel durations in us by CUPTI's activity records, `launches` (even) a subject.

    Subjects take turns, two of them as ABBA. Launch numbers count over all of them, so
    that no launch finds in L2 what the one before it has touched.
    """
    there_and_back = [*range(len(subjects)), *reversed(range(len(subjects)))]
    roles = there_and_back * (launches // 2)
    durations = np.array(traced_us([subjects[role].launch for role in roles]))
    return {s.name: durations[np.equal(roles, i)] for i, s in enumerate(subjects)}


def traced_us(launches: Sequence[Callable[[int, Any], None]]) -> list[float]:
    """Queue the launches under CUPTI; the duration of each, in their order."""
    stream = cupy.cuda.Stream(non_blocking=True)

    def submit() -> None:
        for number, launch in enumerate(launches):
            launch(number, stream)
        stream.synchronize()

    found = kernels_us(submit)
    if len(found) != len(launches):
        raise SystemExit(f"cupti: {len(found)} kernels, expected {len(launches)}")
    return found


def kernels_us(submit: Callable[[], None]) -> list[float]:
    """Durations of all kernels that `submit` runs to their end, by their begin."""
    # cupti-python uses a CUPTI that is loaded already, else that of a site-packages
    # folder whatever sys.path says: load the one whose version the table names.
    library = distribution("nvidia-cuda-cupti").locate_file(CUPTI_LIBRARY)
    ctypes.CDLL(str(library))
    from cupti import cupti

    records: list[tuple[int, int]] = []

    def completed(activities: list[Any]) -> None:
        records.extend((a.start, a.end - a.start) for a in activities)

    cupti.activity_enable(cupti.ActivityKind.CONCURRENT_KERNEL)
    cupti.activity_register_callbacks(lambda: (CUPTI_BUFFER_BYTES, 0), completed)
    submit()
    cupti.activity_flush_all(cupti.ActivityFlag.FLUSH_FORCED)
    cupti.activity_disable(cupti.ActivityKind.CONCURRENT_KERNEL)
    return [ns / 1e3 for _, ns in sorted(records)]


def steady(durations: Sequence[float] | np.ndarray) -> float:
    """Mean without the outermost twentieths: no quantile resolves a tracer's steps."""
    ordered = np.sort(durations)
    cut = ordered.size // 20
    return float(ordered[cut : ordered.size - cut].mean())


METHODS: dict[str, Callable[[Sequence[Subject]], dict[str, float]]] = {
    "plain_loop": lambda subjects: {s.name: plain_loop(s, SAMPLES) for s in subjects},
    "cupyx_benchmark": lambda subjects: {
        s.name: cupyx_benchmark(s, SAMPLES) for s in subjects
    },
    "do_bench": lambda subjects: {s.name: do_bench(s) for s in subjects},
    "nvbench": nvbench,
    "cupti": lambda subjects: {
        name: steady(durations)
        for name, durations in cupti_durations(subjects, SAMPLES).items()
    },
}


def measure(method: str, factory: str) -> dict[str, Any]:
    """One method in a new process: `us` by subject, and the `gpu` it ran on.

    `factory` is `module:function` and returns the subjects; the module is found beside
    this file.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "measured.json"
        command = [sys.executable, __file__, method, factory, str(output)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=CHILD_LIMIT_S
        )
        if done.returncode or not output.exists():
            raise SystemExit(f"{method}: exit {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(output.read_text())


def warm_up(subjects: Sequence[Subject]) -> None:
    """Load every kernel and bring the clocks up, for every method alike."""
    stream, numbers = cupy.cuda.Stream(non_blocking=True), itertools.count()
    deadline = time.monotonic() + WARMUP_S
    while time.monotonic() < deadline:
        for subject in subjects:
            subject.launch(next(numbers), stream)
        stream.synchronize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("factory")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    module, _, function = arguments.factory.partition(":")
    subjects = getattr(importlib.import_module(module), function)()
    warm_up(subjects)
    us = METHODS[arguments.method](subjects)
    found = device.identify()
    gpu = {"name": found.gpu_name, "uuid": found.gpu_uuid, "driver": found.driver}
    arguments.output.write_text(json.dumps({"gpu": gpu, "us": us}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
