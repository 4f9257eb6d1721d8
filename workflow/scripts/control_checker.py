"""Gate 2 on the host, positive controls: the checker must catch each planted fault."""

import argparse
import sys
from typing import Any

from fivegates.building import build
from fivegates.checked_host import check, identity
from fivegates.checking import ADDRESS, CHECKED
from fivegates.gate import ROOT, Desk, gate_parser, guarded, open_desks
from fivegates.host.compiler import find_compiler
from fivegates.store import read_bytes, sha256
from fivegates.trial import control_job


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    return gate_parser(__doc__, several=True).parse_args(argv)


def run_control(desk: Desk, tool: str) -> None:
    """Run `kernels/controls/<tool>.cu`, kernel `control_<tool>`, under the checker."""
    path, entry = f"kernels/controls/{tool}.cu", f"control_{tool}"
    source = read_bytes(ROOT / path).decode()
    built = build(
        desk.backend, source, name=path, entry=entry, options=[], control=True
    )
    wanted = (CHECKED, ADDRESS) if tool == "memcheck" else (CHECKED,)
    images = {
        f: built.binaries[f"{f}.so"] for f in wanted if f"{f}.so" in built.binaries
    }
    compiler = find_compiler()
    runs, logs = check(
        compiler,
        images,
        source=source,
        file=path,
        job=control_job(entry, poison=True),
        inputs=[{}],
        timeout_s=desk.claim.policy.sanitizer.timeout_s,
    )
    measured: dict[str, Any] = {
        "tool": identity(compiler),
        "binary_sha256": None,
        "runs": runs,
    }
    if tool == "memcheck":
        second = images.get(ADDRESS)
        measured["address_sha256"] = None if second is None else sha256(second)
    desk.finish(declared={}, measured=measured, raw=logs)


def main(argv: list[str] | None = None) -> int:
    for tool, desk in open_desks(parse_args(argv)).items():
        run_control(desk, tool)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
