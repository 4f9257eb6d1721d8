"""Compile one arm for the backend: a cubin for the device, two runners for the host."""

import argparse
import sys

from fivegates.arm import ROLES
from fivegates.constructs import unsupported
from fivegates.gate import Desk, gate_parser, guarded, open_desk


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def build_cubin(desk: Desk, role: str, architecture: str) -> None:
    from fivegates.launch import compile_source, nvrtc_version

    arm = desk.claim.arms[role]
    compiled = compile_source(
        desk.source(role),
        name=arm.source,
        entry=arm.entry,
        options=arm.options,
        architecture=architecture,
    )
    desk.finish(
        declared={},
        measured={
            "compiler": f"NVRTC {nvrtc_version()}",
            "flags": list(compiled.flags),
            "symbol": compiled.symbol,
            "log": compiled.log,
        },
        raw={"kernel.cubin": compiled.cubin},
    )


def build_runners(desk: Desk, role: str) -> None:
    from fivegates.host.build import FLAVOURS, compile_runner, find_compiler, flags

    arm, source = desk.claim.arms[role], desk.source(role)
    compiler = find_compiler()
    raw = {}
    if unsupported(source) is None:
        raw = {
            f"{flavour}.bin": compile_runner(
                compiler, source, name=arm.source, entry=arm.entry, flavour=flavour
            )
            for flavour in FLAVOURS
        }
    desk.finish(
        declared={},
        measured={
            "compiler": compiler.version,
            "flags": list(flags("sanitized")),
            "symbol": arm.entry,
            "log": "",
        },
        raw=raw,
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    device = desk.backend.device
    if device is None:
        build_runners(desk, args.role)
    else:
        build_cubin(desk, args.role, device.architecture)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
