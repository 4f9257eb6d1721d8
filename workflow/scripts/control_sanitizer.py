"""Gate 2, positive control: a sanitizer must catch the fault planted for it."""

import argparse
import sys

from fivegates.backend import binary_name
from fivegates.building import build
from fivegates.checked_run import checker
from fivegates.gate import ROOT, Desk, gate_parser, guarded, open_desk
from fivegates.sanitizer import TOOLS, controls
from fivegates.store import read_bytes
from fivegates.trial import control_job


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--tool", choices=TOOLS, required=True)
    return parser.parse_args(argv)


def run_controls(desk: Desk, tool: str) -> None:
    """Run `kernels/controls/<name>.cu`, kernel `control_<name>`, under the tool."""
    check = checker(desk.backend.kind, tool, desk.claim.policy.sanitizer)
    runs = []
    raw: dict[str, bytes] = {}
    for name in controls(desk.backend.kind, tool):
        path = f"kernels/controls/{name}.cu"
        built = build(
            desk.backend,
            read_bytes(ROOT / path).decode(),
            name=path,
            entry=f"control_{name}",
            options=["--std=c++17"],
        )
        job = control_job(built.symbol, poison=check.poison)
        binary = built.binaries[binary_name(desk.backend.kind, sanitized=True)]
        measured, logs = check.run(name, job, binary, [{}])
        runs.append(measured)
        raw |= logs
    desk.finish(
        declared={},
        measured={"tool": check.identity, "binary_sha256": None, "runs": runs},
        raw=raw,
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        run_controls(desk, args.tool)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
