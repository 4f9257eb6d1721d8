"""Gate 1: launch every case of the contract, compare every element with the oracle."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from fivegates.arm import ROLES, Role
from fivegates.claim import cases
from fivegates.contract import Case
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.job import CaseReport
from fivegates.reference import accepted_impostors, case_result, compare, worst
from fivegates.store import sha256
from fivegates.trial import job, never_written


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def judge_case(
    desk: Desk, folder: Path, case: Case, report: CaseReport
) -> dict[str, Any]:
    """Compare the worst of a case's distinct outputs with the oracle."""
    operation, claim = desk.operation, desk.claim
    expected = operation.oracle(operation.inputs(case), case.sizes)
    outputs = {}
    for name, right in expected.items() if report.error is None else ():
        found = read_outputs(folder, report, name, claim.workload.dtype)
        compared = [compare(y, right.ravel(), claim.tolerance) for y in found]
        outputs[name] = worst(compared) if compared else never_written(right)
    return case_result(case, report, outputs)


def weaknesses(desk: Desk, chosen: tuple[Case, ...]) -> list[str]:
    """Wrong outputs that the contract would accept at the timed sizes."""
    operation, sizes = desk.operation, desk.claim.workload.sizes
    case = next(case for case in chosen if case.sizes == sizes)
    expected = operation.oracle(operation.inputs(case), sizes)
    return list(accepted_impostors(expected, desk.claim.tolerance))


def check(desk: Desk, role: Role) -> None:
    operation, claim = desk.operation, desk.claim
    build = desk.after[f"{role}/build"]
    host = desk.backend.kind == "host"
    binary = desk.raw(build, "plain.bin" if host else "kernel.cubin")
    policy, chosen = claim.policy.reference, cases(claim, operation)
    trial = job(
        claim,
        operation,
        role,
        chosen,
        entry=(build.result or {})["measured"]["symbol"],
        launches=policy.launches,
        poison=True,
    )
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        prepare(folder, trial, binary, map(operation.inputs, chosen))
        exercised = exercise(desk.backend.kind, folder, trial, policy.timeout_s)
        judged = [judge_case(desk, folder, chosen[r.index], r) for r in exercised.cases]
    desk.finish(
        declared={
            "formula": operation.formula,
            "reference": operation.reference,
            "poison": "0xff bytes before each launch",
        },
        measured={
            "binary_sha256": sha256(binary),
            "accepted_impostors": weaknesses(desk, chosen),
            "timed_out": exercised.timed_out,
            "cases": judged,
        },
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
    else:
        check(desk, args.role)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
