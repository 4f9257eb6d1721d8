"""Compile one arm for the backend: a cubin for the device, two runners for the host."""

import argparse
import sys

from fivegates.arm import ROLES
from fivegates.building import build
from fivegates.gate import gate_parser, guarded, open_desk


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    arm = desk.claim.arms[args.role]
    built = build(
        desk.backend,
        desk.source(args.role),
        name=arm.source,
        entry=arm.entry,
        options=arm.options,
    )
    desk.finish(declared={}, measured=built.measured, raw=built.binaries)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
