"""Gate 2, positive control: a sanitizer must catch the fault planted for it."""

import argparse
import sys

from fivegates.arm import Argument, Launch
from fivegates.backend import Backend
from fivegates.checked_run import checker
from fivegates.gate import ROOT, Desk, gate_parser, guarded, open_desk
from fivegates.job import CaseJob, Job
from fivegates.sanitizer import TOOLS, controls
from fivegates.store import read_bytes
from fivegates.trial import BINARY

ELEMENTS = 250
THREADS = 256


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--tool", choices=TOOLS, required=True)
    return parser.parse_args(argv)


def control_job(symbol: str, poison: bool) -> Job:
    """One block on one exact output: every control is `(float* y, size_t n)`."""
    launch = Launch(
        grid=(1, 1, 1),
        block=(THREADS, 1, 1),
        dynamic_shared_bytes=0,
        arguments=(
            Argument(kind="buffer", name="y", value=None),
            Argument(kind="scalar", name="uint64", value=ELEMENTS),
        ),
    )
    case = CaseJob(
        index=0,
        launches=1,
        poison=poison,
        launch=launch,
        inputs={},
        outputs={"y": 4 * ELEMENTS},
    )
    return Job(binary=BINARY, entry=symbol, cases=(case,))


def compile_control(backend: Backend, name: str) -> bytes:
    """Binary of `kernels/controls/<name>.cu`; its kernel is `control_<name>`."""
    path = f"kernels/controls/{name}.cu"
    source, entry = read_bytes(ROOT / path).decode(), f"control_{name}"
    if backend.device is None:
        from fivegates.host.build import compile_runner, find_compiler

        return compile_runner(
            find_compiler(), source, name=path, entry=entry, flavour="sanitized"
        )
    from fivegates.launch import compile_source

    return compile_source(
        source,
        name=path,
        entry=entry,
        options=("--std=c++17",),
        architecture=backend.device.architecture,
    ).cubin


def run_controls(desk: Desk, tool: str) -> None:
    kind = desk.backend.kind
    check = checker(kind, tool, desk.claim.policy.sanitizer)
    runs, raw = [], {}
    for name in controls(kind, tool):
        binary = compile_control(desk.backend, name)
        job = control_job(f"control_{name}", check.poison)
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
