"""Gate 1: launch every case of the contract, compare every element with the oracle."""

import argparse
import sys
import tempfile
from pathlib import Path

from fivegates.arm import ROLES, Role
from fivegates.backend import binary_name
from fivegates.claim import cases
from fivegates.errors import ClaimError
from fivegates.exercise import compare_outputs, exercise, prepare
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.reference import case_key, case_result, weaknesses
from fivegates.store import sha256
from fivegates.trial import job


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def check(desk: Desk, role: Role) -> None:
    operation, claim, build = desk.operation, desk.claim, desk.after[f"{role}/build"]
    binary = desk.raw(build, binary_name(desk.backend.kind, sanitized=False))
    policy, chosen = claim.policy.reference, cases(claim, operation)
    trial = job(
        claim,
        operation,
        role,
        chosen,
        entry=build.measured["symbol"],
        launches=policy.launches,
        poison=True,
    )
    judged = []
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary)
        prepare(folder, trial, binary, map(operation.inputs, chosen))
        try:
            exercised = exercise(desk.backend.kind, folder, trial, policy.timeout_s)
        except ClaimError as error:
            where = f"config/claims/{claim.name}.yaml: {role}.arguments"
            raise ClaimError(f"{where}: {error}") from None
        for report in exercised.cases:
            case = chosen[report.index]
            outputs = compare_outputs(
                folder,
                report,
                operation.oracle(operation.inputs(case), case.sizes),
                dtype=claim.workload.dtype,
                tolerance=claim.tolerance,
            )
            judged.append(case_result(case, report, outputs))
    unanswered = chosen[len(judged)] if exercised.timed_out else None
    weak = weaknesses(operation, claim.workload.sizes, claim.tolerance)
    desk.finish(
        declared={
            "formula": operation.formula,
            "reference": operation.reference,
            "poison": "0xff bytes before each launch",
        },
        measured={
            "binary_sha256": sha256(binary),
            "accepted_impostors": list(weak),
            "timed_out": None if unanswered is None else case_key(unanswered),
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
