"""Gate 3: time both arms in one session, a process that this one waits for.

The plan is written and hashed before that process starts; the device's state is read by
a second one beside it.
"""

import argparse
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

from fivegates.arm import ROLES
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.plan import document
from fivegates.process import Completed, beside, portable, run
from fivegates.store import canonical, sha256

HERE = Path(__file__).parent
SESSION_FILES = ("samples.csv", "blocks.csv", "warmup.csv", "state.csv")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--session", type=int, required=True)
    return parser.parse_args(argv)


def measure(desk: Desk, args: argparse.Namespace) -> None:
    builds = {role: desk.after[f"{role}/build"] for role in ROLES}
    binaries = {role: desk.raw(build, "kernel.cubin") for role, build in builds.items()}
    plan = canonical(document(desk.claim, desk.claim_sha256, args.session))
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        (folder / "plan.json").write_bytes(plan)
        command = [*script(desk), "--claim", args.claim, "--backend", args.backend]
        command += ["--plan", folder / "plan.json"]
        for role in ROLES:
            cubin = folder / f"{role}.cubin"
            cubin.write_bytes(binaries[role])
            command += [f"--{role}", cubin, builds[role].measured["symbol"]]
        completed = timed(desk, [*command, "--folder", folder], folder)
        facts: dict[str, Any] | None = None
        raw = {"plan.json": plan}
        if completed.exit_status == 0:
            facts = json.loads((folder / "facts.json").read_text())
            facts["conditions"] = json.loads((folder / "conditions.json").read_text())
            raw |= {n: (folder / n).read_bytes() for n in SESSION_FILES}
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


def script(desk: Desk) -> list[str | Path]:
    """The process that measures; a cold start has one for each of its samples."""
    cold = desk.claim.workload.boundary == "cold-start"
    name = "measure_cold_start.py" if cold else "measure_session.py"
    return [sys.executable, HERE / name]


def timed(desk: Desk, command: list[str | Path], folder: Path) -> Completed:
    """Run the session with the sampler of the device's state beside it."""
    device = desk.backend.device
    if device is None:
        raise RuntimeError("no device, expected the gate to be barred")
    zero = ["--zero-s", repr(time.monotonic())]
    sampler: list[str | Path] = [sys.executable, HERE / "sample_state.py"]
    sampler += ["--gpu-uuid", device.gpu_uuid, "--folder", folder]
    timeout_s = desk.claim.policy.timing.timeout_s
    # A third of a second of imports that the verdict needs, while the session runs.
    importing = Thread(target=importlib.import_module, args=["scipy.special"])
    importing.start()
    with beside([*sampler, *zero]):
        return run([*command, *zero], timeout_s=timeout_s)


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
