"""The `fivegates` command: verify; calibrate; add a session; begin something new."""

import argparse
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

from fivegates import pipeline
from fivegates.errors import EvidenceError
from fivegates.skeleton import new_claim, new_operation
from fivegates.verify import Verification, verify

ERROR_STATUS = 2


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="fivegates", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checker = commands.add_parser(
        "verify",
        help="check a receipt: exit 0 supported, 1 not supported, 2 receipt invalid, "
        "3 preflight passed",
    )
    checker.add_argument("receipt", type=Path)
    calibrator = commands.add_parser(
        "calibrate",
        help="run null and planted experiments on this device; receipts will cite them",
    )
    calibrator.add_argument(
        "--experiments", type=int, default=40, help="of each kind, at least 4"
    )
    sessions = commands.add_parser("sessions", help="timing sessions of a claim")
    actions = sessions.add_subparsers(dest="action", required=True)
    adder = actions.add_parser("add", help="time one more session, on the same device")
    adder.add_argument("claim")
    beginner = commands.add_parser("new", help="write a working beginning")
    kinds = beginner.add_subparsers(dest="kind", required=True)
    operation = kinds.add_parser("operation", help="a contract and its plain arm")
    operation.add_argument("name")
    claim = kinds.add_parser("claim", help="a claim and its candidate")
    claim.add_argument("name")
    claim.add_argument("--operation", required=True, help="a folder in kernels/")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the command; the exit status of `verify` is the verdict."""
    arguments = parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        if arguments.command == "calibrate":
            return pipeline.calibrate(arguments.experiments)
        if arguments.command == "sessions":
            return pipeline.add_session(arguments.claim)
        if arguments.command == "new":
            return _begin(arguments)
    except EvidenceError as error:
        print(error, file=sys.stderr)
        return ERROR_STATUS
    verification = verify(arguments.receipt, datetime.now(UTC))
    _show(arguments.receipt, verification)
    return verification.exit_status


def _begin(arguments: argparse.Namespace) -> int:
    root = Path.cwd()
    if arguments.kind == "operation":
        written = new_operation(root, arguments.name)
    else:
        written = new_claim(root, arguments.name, arguments.operation)
    for path in written:
        print(path)
    return 0


def _show(path: Path, verification: Verification) -> None:
    for problem in verification.problems:
        print(problem, file=sys.stderr)
    if verification.problems or verification.receipt is None:
        print("receipt    invalid", file=sys.stderr)
        return
    for line in verification.receipt["summary"]:
        print(line)
    print(f"{'receipt':<10} sha256:{verification.sha256}  {path}")
