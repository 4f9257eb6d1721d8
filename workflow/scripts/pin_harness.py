"""Pin the code that makes evidence: digest every harness file, keep its bytes."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from fivegates.gate import guarded
from fivegates.store import Store, canonical, read_bytes


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--files", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True, help="harness.json")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    store = Store(args.results)
    files = [
        store.pin(path.as_posix(), read_bytes(path)) for path in sorted(args.files)
    ]
    document = {
        "schema": "fivegates:harness/v1",
        "files": [asdict(artifact) for artifact in files],
    }
    store.publish(args.output, canonical(document))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
