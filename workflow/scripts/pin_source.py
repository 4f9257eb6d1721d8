"""Pin one arm's source: digest its kernel and its contract, keep the bytes."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from fivegates.arm import ROLES
from fivegates.gate import guarded
from fivegates.store import Store, canonical, read_bytes


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--role", choices=ROLES, required=True)
    parser.add_argument("--kernel", type=Path, required=True)
    parser.add_argument("--contract", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="source.json")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    store = Store(args.results)
    files = [
        store.pin(path.as_posix(), read_bytes(path))
        for path in (args.kernel, args.contract)
    ]
    document = {
        "schema": "fivegates:source/v1",
        "role": args.role,
        "files": [asdict(artifact) for artifact in files],
    }
    store.publish(args.output, canonical(document))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
