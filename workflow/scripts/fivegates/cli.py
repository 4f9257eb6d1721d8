"""The `fivegates` command: `fivegates verify results/receipt.json`."""

import argparse
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

from fivegates.verify import Verification, verify


def main(argv: list[str] | None = None) -> int:
    """Run the command; the exit status of `verify` is the verdict."""
    parser = argparse.ArgumentParser(prog="fivegates", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checker = commands.add_parser(
        "verify",
        help="check a receipt: exit 0 supported, 1 not supported, 2 receipt invalid, "
        "3 preflight passed",
    )
    checker.add_argument("receipt", type=Path)
    arguments = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    verification = verify(arguments.receipt, datetime.now(UTC))
    _show(arguments.receipt, verification)
    return verification.exit_status


def _show(path: Path, verification: Verification) -> None:
    for problem in verification.problems:
        print(problem, file=sys.stderr)
    if verification.problems or verification.receipt is None:
        print("receipt    invalid", file=sys.stderr)
        return
    for line in verification.receipt["summary"]:
        print(line)
    print(f"{'receipt':<10} sha256:{verification.sha256}  {path}")
