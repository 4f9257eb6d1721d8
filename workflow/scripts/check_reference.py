"""Gate 1: launch every case of the contract, compare every element with the oracle."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fivegates import operations
from fivegates.arm import ROLES, Role
from fivegates.claim import Claim, cases
from fivegates.contract import Case
from fivegates.contraction import compare_settings
from fivegates.errors import ClaimError
from fivegates.exercise import Exercised, compare_outputs, exercise_once
from fivegates.gate import ROOT, Desk, gate_parser, guarded, open_desk
from fivegates.job import SHARED_FILLS, CaseReport, Job
from fivegates.oracle import Oracle, read, subject
from fivegates.preflight import sweep
from fivegates.reference import case_key, case_result
from fivegates.store import read_bytes, sha256
from fivegates.trial import WORKERS, in_parallel, job, launched_once

# A folder, and what was answered of the cases in it.
Ran = tuple[Path, Sequence[CaseReport]]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    parser.add_argument("--oracle", type=Path, required=True, help="oracle.npz")
    return parser.parse_args(argv)


def open_oracle(desk: Desk, args: argparse.Namespace) -> Oracle:
    contract = operations.contract_path(ROOT, desk.claim.operation)
    of = subject(*map(read_bytes, (args.claim, contract, args.harness)))
    data, source = read_bytes(args.oracle), str(args.oracle)
    return read(data, source, desk.claim, desk.operation, of)


def launch(desk: Desk, role: Role, **trial: Any) -> Exercised:
    """Run a job; a launch that does not fit the kernel is an error of the claim."""
    try:
        return exercise_once(
            desk.backend.kind,
            source=desk.source(role),
            timeout_s=desk.claim.policy.reference.timeout_s,
            **trial,
        )
    except ClaimError as error:
        where = f"{desk.claim.file}: {role}.arguments"
        raise ClaimError(f"{where}: {error}") from None


def planned(desk: Desk, role: Role, chosen: Sequence[Case]) -> Job:
    """Every case as often as its backend launches it."""
    host, launches = desk.backend.kind == "host", desk.claim.policy.reference.launches
    return job(
        desk.claim,
        desk.operation,
        role,
        chosen,
        entry=desk.after[f"{role}/build"].measured["symbol"],
        launches=sweep(chosen) if host else launches,
        poison=True,
    )


def compare_contractions(
    claim: Claim, chosen: Sequence[Case], oracle: Oracle, separate: Ran, fused: Ran
) -> list[dict[str, Any]]:
    """Every answered case in both settings of contraction."""
    (folder, reports), (second, once) = separate, fused
    found = {report.index: (second, report) for report in once}
    return [
        compare_settings(
            chosen[report.index],
            (folder, report),
            found.get(report.index),
            oracle.expected(report.index),
            claim.tolerance,
        )
        for report in reports
    ]


def check(desk: Desk, role: Role, oracle: Oracle) -> dict[str, Any]:
    """What was measured of one arm; on the host in both settings of contraction."""
    claim, operation, build = desk.claim, desk.operation, desk.after[f"{role}/build"]
    chosen, on_host = cases(claim, operation), desk.backend.kind == "host"
    # On the host the other arm is judged at the same time.
    workers = 1 if on_host else WORKERS
    trial = planned(desk, role, chosen)
    inputs = list(in_parallel(operation.allocations, chosen, workers))
    binary = desk.raw(build, "values.so" if on_host else "kernel.cubin")
    host: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder, second = Path(temporary, "arm"), Path(temporary, "contracted")
        runs = partial(launch, desk, role, inputs=inputs)
        exercised = runs(folder=folder, job=trial, binary=binary)

        def judged_case(report: CaseReport) -> dict[str, Any]:
            right = oracle.expected(report.index)
            outputs = compare_outputs(folder, report, right, claim.tolerance)
            return case_result(chosen[report.index], report, outputs)

        judged = list(in_parallel(judged_case, exercised.cases, workers))
        if on_host:
            contracted = desk.raw(build, "contracted.so")
            once = runs(folder=second, job=launched_once(trial), binary=contracted)
            ran = (folder, exercised.cases), (second, once.cases)
            settings = compare_contractions(claim, chosen, oracle, *ran)
            host["contracted_sha256"] = sha256(contracted)
            host["host"] = {"cases": settings}
    unanswered = chosen[len(judged)] if exercised.timed_out else None
    return {
        "binary_sha256": sha256(binary),
        "accepted_impostors": list(oracle.accepted_impostors),
        "oracle_sha256": oracle.sha256,
        "shared_fills": list(SHARED_FILLS),
        "timed_out": None if unanswered is None else case_key(unanswered),
        "cases": judged,
        **host,
    }


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    desk = open_desk(args)
    if refusal := desk.barred:
        desk.refuse(refusal)
        return 0
    measured = check(desk, args.role, open_oracle(desk, args))
    declared = {
        "formula": desk.operation.formula,
        "reference": desk.operation.reference,
        "poison": "0xff bytes before each launch",
    }
    desk.finish(declared=declared, measured=measured)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
