"""Gate 2 on the host: one run of the checker over an arm answers for all tools."""

import argparse
import sys
from typing import Any

from fivegates.arm import ROLES, Role
from fivegates.checked_host import check, identity
from fivegates.checking import ADDRESS, CHECKED, CHECKED_LOG
from fivegates.gate import Desk, gate_parser, guarded, open_desks
from fivegates.host.compiler import find_compiler
from fivegates.host.static_proof import prove_arm
from fivegates.store import sha256
from fivegates.trial import job, one_case_of_each_size, timed_case


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__, several=True)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def check_arm(desks: dict[str, Desk], role: Role) -> None:
    desk = next(iter(desks.values()))
    claim, operation, build = desk.claim, desk.operation, desk.after[f"{role}/build"]
    images = {
        flavour: desk.raw(build, f"{flavour}.so")
        for flavour in (CHECKED, ADDRESS)
        if any(item.name.endswith(f"/{flavour}.so") for item in build.artifacts)
    }
    chosen = one_case_of_each_size(claim, operation)
    entry, arm = build.measured["symbol"], claim.arms[role]
    trial = job(claim, operation, role, chosen, entry=entry, launches=1, poison=True)
    compiler, source = find_compiler(), desk.source(role)
    runs, logs = check(
        compiler,
        images,
        source=source,
        file=arm.source,
        job=trial,
        inputs=[operation.allocations(case) for case in chosen],
        timeout_s=claim.policy.sanitizer.timeout_s,
        census_of=timed_case(claim, chosen),
    )
    shared: dict[str, Any] = {
        "tool": identity(compiler),
        "binary_sha256": sha256(images[CHECKED]),
    }
    address = sha256(images[ADDRESS]) if ADDRESS in images else None
    for tool, desk in desks.items():
        measured: dict[str, Any] = {**shared, "runs": runs[:1]}
        raw = {CHECKED_LOG: logs[CHECKED_LOG]}
        if tool == "memcheck":
            measured |= {"runs": runs, "address_sha256": address}
            raw = logs
        if tool == "racecheck":
            measured["static_proof"] = prove_arm(source, arm, trial)
        desk.finish(declared={}, measured=measured, raw=raw)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    if ready := open_desks(args):
        check_arm(ready, args.role)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
