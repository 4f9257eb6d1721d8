"""Gate 2 on a device, control: a sanitizer must catch the fault planted for it."""

import argparse
import sys

from fivegates.building import build
from fivegates.checked_run import checker
from fivegates.gate import ROOT, Desk, gate_parser, guarded, open_desk
from fivegates.sanitizer import TOOLS
from fivegates.store import read_bytes
from fivegates.trial import control_job


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--tool", choices=TOOLS, required=True)
    return parser.parse_args(argv)


def run_control(desk: Desk, tool: str) -> None:
    """Run `kernels/controls/<tool>.cu`, kernel `control_<tool>`, under the tool."""
    check = checker(tool, desk.claim.policy.sanitizer)
    path = f"kernels/controls/{tool}.cu"
    built = build(
        desk.backend,
        read_bytes(ROOT / path).decode(),
        name=path,
        entry=f"control_{tool}",
        options=["--std=c++17"],
    )
    job = control_job(built.symbol, poison=check.poison)
    measured, logs = check.run(tool, job, built.binaries["kernel.cubin"], [{}])
    desk.finish(
        declared={},
        measured={"tool": check.identity, "binary_sha256": None, "runs": [measured]},
        raw=logs,
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        run_control(desk, args.tool)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
