"""Gather the receipts of a claim's workloads into one table, bound by their digests."""

import argparse
import sys
from pathlib import Path

from fivegates.errors import ArtifactError
from fivegates.gate import guarded
from fivegates.portfolio import build
from fivegates.schema import check
from fivegates.store import Store, canonical, parse, read_bytes, sha256


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--receipts", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True, help="portfolio.json")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    receipts = {}
    for path in args.receipts:
        data = read_bytes(path)
        receipts[str(path)] = (sha256(data), parse(data, str(path)))
        check(receipts[str(path)][1], "receipt", str(path), ArtifactError)
    data = canonical(build(receipts))
    check(parse(data, str(args.output)), "portfolio", str(args.output), ArtifactError)
    Store(args.results).publish(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
