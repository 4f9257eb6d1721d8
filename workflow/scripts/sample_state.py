"""Read a device's state until standard input ends: a process beside the session's own.

Writes state.csv, a row a reading, and conditions.json. Imports no CUDA.
"""

import argparse
import csv
import json
import select
import sys
import time
from dataclasses import astuple
from pathlib import Path

from fivegates.nvml import device, read_conditions, read_state
from fivegates.state import STATE_COLUMNS


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu-uuid", required=True)
    parser.add_argument("--zero-s", type=float, required=True, help="monotonic time")
    parser.add_argument("--interval-s", type=float, default=0.02)
    parser.add_argument("--folder", type=Path, required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    with (
        device(args.gpu_uuid) as handles,
        (args.folder / "state.csv").open("w", newline="") as file,
    ):
        conditions = {"gpu_uuid": args.gpu_uuid, **read_conditions(handles)}
        (args.folder / "conditions.json").write_text(json.dumps(conditions))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(STATE_COLUMNS)
        ended = False
        while not ended:
            writer.writerow(
                astuple(read_state(handles, time.monotonic() - args.zero_s))
            )
            ended = bool(select.select([sys.stdin], [], [], args.interval_s)[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
