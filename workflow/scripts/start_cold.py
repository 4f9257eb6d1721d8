"""One cold start: context, module load and first launch of a kernel, each by itself.

Reads job.json and arrays of one folder; prints one line of JSON.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from cupy.cuda import runtime

from fivegates.arm import Argument, Launch
from fivegates.claim import Tolerance
from fivegates.comparison import judged_in_place
from fivegates.contract import Right
from fivegates.device import current_uuid
from fivegates.launch import Kernel
from fivegates.layout import Layout


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--role", required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    job = json.loads((args.folder / f"{args.role}.json").read_text())
    cubin = (args.folder / f"{args.role}.cubin").read_bytes()
    launch = Launch(
        grid=tuple(job["launch"]["grid"]),
        block=tuple(job["launch"]["block"]),
        dynamic_shared_bytes=job["launch"]["dynamic_shared_bytes"],
        arguments=tuple(Argument(**item) for item in job["launch"]["arguments"]),
    )
    arrays = {path.stem: np.load(path) for path in args.folder.glob("*.npy")}
    begin = time.monotonic()
    start = time.perf_counter_ns()
    runtime.free(0)
    contexts = time.perf_counter_ns()
    pointers = {name: upload(array) for name, array in arrays.items()}
    runtime.deviceSynchronize()
    before = time.perf_counter_ns()
    kernel = Kernel(cubin, job["symbol"])
    loaded = time.perf_counter_ns()
    kernel(launch, pointers)
    runtime.deviceSynchronize()
    done = time.perf_counter_ns()
    end = time.monotonic()
    tolerance = Tolerance(**job["tolerance"])
    wrong = 0
    for path in args.folder.glob("*.npz") if launch.arguments else ():
        right = expected(path)
        raw = download(pointers[path.stem], arrays[path.stem])
        judged = judged_in_place(raw.view(right.dtype), right, tolerance)
        wrong += judged.failures + judged.beside
    parts = {
        "context": (contexts - start) / 1e3,
        "load": (loaded - before) / 1e3,
        "first-launch": (done - loaded) / 1e3,
    }
    found = {"begin_s": begin, "end_s": end, "wrong": wrong}
    print(json.dumps({**parts, **found, "gpu_uuid": current_uuid()}))
    return 0


def expected(path: Path) -> Right:
    with np.load(path) as saved:
        return Right(
            values=saved["values"],
            magnitude=saved["magnitude"],
            dtype=str(saved["dtype"]),
            unordered=bool(saved["unordered"]),
            layout=Layout(
                shape=tuple(saved["shape"].tolist()),
                start=int(saved["start"]),
                strides=tuple(saved["strides"].tolist()),
            ),
        )


def upload(array: np.ndarray) -> int:
    pointer = int(runtime.malloc(max(1, array.nbytes)))
    runtime.memcpy(pointer, array.ctypes.data, array.nbytes, runtime.memcpyHostToDevice)
    return pointer


def download(pointer: int, like: np.ndarray) -> np.ndarray:
    host = np.empty_like(like)
    runtime.memcpy(host.ctypes.data, pointer, host.nbytes, runtime.memcpyDeviceToHost)
    return host


if __name__ == "__main__":
    sys.exit(main())
