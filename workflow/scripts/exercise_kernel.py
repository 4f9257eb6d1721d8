"""Launch one kernel on the cases of a job folder: the process of gates 1 and 2."""

import argparse
import os
import sys
from pathlib import Path

from fivegates.job import JOB_FILE, REPORT_FILE, from_text
from fivegates.launch import exercise
from fivegates.shared_memory import shared_fills


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fill-shared", action="store_true")
    arguments = parser.parse_args(argv)
    folder = arguments.folder
    fills = shared_fills() if arguments.fill_shared else ()
    job = from_text((folder / JOB_FILE).read_text())
    with (folder / REPORT_FILE).open("w") as report:
        completed = exercise(job, folder, report, fills)
    if not completed:
        # The context is lost: unloading from it would only add errors to a tool's log.
        os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
