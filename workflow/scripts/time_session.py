"""Gate 3: time both arms in one session, a process that this one waits for."""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from fivegates.arm import ROLES
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.process import portable, run
from fivegates.store import sha256

MEASURE_SCRIPT = Path(__file__).with_name("measure_session.py")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--session", type=int, required=True)
    return parser.parse_args(argv)


def measure(desk: Desk, args: argparse.Namespace) -> None:
    builds = {role: desk.after[f"{role}/build"] for role in ROLES}
    binaries = {role: desk.raw(build, "kernel.cubin") for role, build in builds.items()}
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        command: list[str | Path] = [
            sys.executable,
            MEASURE_SCRIPT,
            "--claim",
            args.claim,
        ]
        for role in ROLES:
            cubin = folder / f"{role}.cubin"
            cubin.write_bytes(binaries[role])
            command += [f"--{role}", cubin, builds[role].measured["symbol"]]
        command += ["--session", str(args.session), "--folder", folder]
        completed = run(command, timeout_s=desk.claim.policy.timing.timeout_s)
        facts: dict[str, Any] | None = None
        raw = {}
        if completed.exit_status == 0:
            facts = json.loads((folder / "facts.json").read_text())
            raw = {n: (folder / n).read_bytes() for n in ("samples.csv", "state.csv")}
    desk.finish(
        declared={},
        measured={
            "exit_status": completed.exit_status,
            "last_words": "" if facts else completed.last_words,
            "binaries": {role: sha256(data) for role, data in binaries.items()},
            "facts": facts,
        },
        raw=raw,
        command=portable(command, {str(folder): "JOB"}),
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        measure(desk, args)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
