"""Gate 2 on a device: one sanitizer over one arm, on one case of each size."""

import argparse
import sys

from fivegates.arm import ROLES, Role
from fivegates.checked_run import checker
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.sanitizer import TOOLS
from fivegates.store import sha256


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    parser.add_argument("--tool", choices=TOOLS, required=True)
    return parser.parse_args(argv)


def check(desk: Desk, role: Role, tool: str) -> None:
    claim, build = desk.claim, desk.after[f"{role}/build"]
    binary, symbol = desk.raw(build, "kernel.cubin"), build.measured["symbol"]
    check = checker(tool, claim.policy.sanitizer)
    measured, logs = check.run_arm(claim, desk.operation, role, binary, symbol)
    desk.finish(
        declared={},
        measured={
            "tool": check.identity,
            "binary_sha256": sha256(binary),
            "runs": [measured],
        },
        raw=logs,
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        check(desk, args.role, args.tool)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
