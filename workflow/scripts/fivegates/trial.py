"""From the cases of a claim to the job that a process is given."""

from collections.abc import Sequence

import numpy as np

from fivegates.arm import Role
from fivegates.claim import Claim, cases, elements, launch
from fivegates.contract import DTYPES, Case, Operation
from fivegates.job import CaseJob, Job
from fivegates.reference import Comparison

BINARY = "kernel"


def job(
    claim: Claim,
    operation: Operation,
    role: Role,
    chosen: Sequence[Case],
    *,
    entry: str,
    launches: int,
    poison: bool,
) -> Job:
    """The job that launches one arm on these cases, with buffers of the exact size."""
    itemsize = DTYPES[claim.workload.dtype]

    def buffers(case: Case, role: str) -> dict[str, int]:
        shapes = operation.shapes(case.sizes)
        return {
            name: itemsize * elements(shapes[name])
            for name, kind in operation.operands.items()
            if kind == role
        }

    return Job(
        binary=BINARY,
        entry=entry,
        cases=tuple(
            CaseJob(
                index=index,
                launches=launches,
                poison=poison,
                launch=launch(claim, operation, role, case.sizes),
                inputs=buffers(case, "input"),
                outputs=buffers(case, "output"),
            )
            for index, case in enumerate(chosen)
        ),
    )


def one_case_of_each_size(claim: Claim, operation: Operation) -> tuple[Case, ...]:
    """The first case of each set of sizes: what a sanitizer needs to see."""
    first = {tuple(sorted(c.sizes.items())): c for c in cases(claim, operation)[::-1]}
    return tuple(case for case in cases(claim, operation) if case in first.values())


def never_written(expected: np.ndarray) -> Comparison:
    """The comparison for an output that no launch wrote: every element is poison."""
    return Comparison(
        elements=expected.size,
        failures=expected.size,
        unwritten=expected.size,
        nonfinite=expected.size,
        max_abs_error=None,
        max_rel_error=None,
        first_failure=0 if expected.size else None,
        actual=None,
        expected=float(expected.flat[0]) if expected.size else None,
    )
