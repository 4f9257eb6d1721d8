"""Gate 1: launch every case of the contract, compare every element with the oracle."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fivegates.arm import ROLES, Role
from fivegates.claim import cases
from fivegates.contract import Arrays
from fivegates.errors import ClaimError
from fivegates.exercise import Exercised, compare_outputs, exercise, prepare
from fivegates.gate import Desk, gate_parser, guarded, open_desk
from fivegates.host.contraction import compare_settings
from fivegates.host.folder import write_host_file
from fivegates.job import Job
from fivegates.preflight import sweep
from fivegates.reference import case_key, case_result, weaknesses
from fivegates.store import sha256
from fivegates.trial import job, launched_once

Inputs = Sequence[Arrays]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = gate_parser(__doc__)
    parser.add_argument("--role", choices=ROLES, required=True)
    return parser.parse_args(argv)


def launch(
    desk: Desk, role: Role, folder: Path, binary: bytes, trial: Job, inputs: Inputs
) -> Exercised:
    """Launch every case of a job in a folder that is made for it."""
    claim, kind = desk.claim, desk.backend.kind
    folder.mkdir()
    prepare(folder, trial, binary, inputs)
    if kind == "host":
        write_host_file(folder, binary, desk.source(role), mode="values")
    try:
        return exercise(kind, folder, trial, claim.policy.reference.timeout_s)
    except ClaimError as error:
        where = f"config/claims/{claim.name}.yaml: {role}.arguments"
        raise ClaimError(f"{where}: {error}") from None


def check(desk: Desk, role: Role) -> None:
    claim, operation, build = desk.claim, desk.operation, desk.after[f"{role}/build"]
    host = desk.backend.kind == "host"
    chosen, launches = cases(claim, operation), claim.policy.reference.launches
    counts = sweep(chosen) if host else [launches] * len(chosen)
    inputs = [operation.inputs(case) for case in chosen]
    trial = job(
        claim,
        operation,
        role,
        chosen,
        entry=build.measured["symbol"],
        launches=counts,
        poison=True,
    )
    binary = desk.raw(build, "values.so" if host else "kernel.cubin")
    common: dict[str, Any] = {
        "dtype": claim.workload.dtype,
        "tolerance": claim.tolerance,
    }
    judged, settings, extra = [], [], {}
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder, fused_folder = Path(temporary, "arm"), Path(temporary, "contracted")
        exercised = launch(desk, role, folder, binary, trial, inputs)
        fused = {}
        if host:
            contracted = desk.raw(build, "contracted.so")
            once = launched_once(trial)
            answers = launch(desk, role, fused_folder, contracted, once, inputs)
            fused = {report.index: (fused_folder, report) for report in answers.cases}
            extra = {"contracted_sha256": sha256(contracted)}
        for report in exercised.cases:
            case = chosen[report.index]
            right = operation.oracle(inputs[report.index], case.sizes)
            outputs = compare_outputs(folder, report, right, **common)
            judged.append(case_result(case, report, outputs))
            if host:
                pair = (folder, report), fused.get(report.index)
                settings.append(compare_settings(case, *pair, right, **common))
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
            **extra,
            **({"host": {"cases": settings}} if host else {}),
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
