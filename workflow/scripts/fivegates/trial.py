"""From the cases of a claim to the job that a process is given."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import numpy as np

from fivegates.arm import ROLES, Argument, Launch, Role
from fivegates.claim import VALUE_SETS, Claim, cases, launch
from fivegates.contract import Arrays, Case, Expected, Operation
from fivegates.errors import ClaimError
from fivegates.job import CaseJob, Job

BINARY = "kernel"
CONTROL_ELEMENTS = 250
CONTROL_THREADS = 256
# Cases in flight: each holds its arrays in float64.
WORKERS = 4

One = TypeVar("One")
Result = TypeVar("Result")
ValueSet = tuple[Arrays, Expected]


def in_parallel(
    function: Callable[[One], Result], items: Iterable[One], workers: int = WORKERS
) -> Iterator[Result]:
    """What becomes of each item, in their order; a few are worked on at a time."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


def job(
    claim: Claim,
    operation: Operation,
    role: Role,
    chosen: Sequence[Case],
    *,
    entry: str,
    launches: int | Sequence[int],
    poison: bool,
) -> Job:
    """The job that launches one arm on these cases, with buffers of the exact size.

    `launches` is the number for every case, or one for each.
    """
    counts = [launches] * len(chosen) if isinstance(launches, int) else launches

    def buffers(case: Case, role: str) -> dict[str, int]:
        return {
            name: operation.nbytes(name, case.sizes)
            for name, kind in operation.operands.items()
            if kind == role
        }

    return Job(
        binary=BINARY,
        entry=entry,
        cases=tuple(
            CaseJob(
                index=index,
                launches=counts[index],
                poison=poison,
                launch=launch(claim, operation, role, case.sizes),
                inputs=buffers(case, "input"),
                outputs=buffers(case, "output"),
            )
            for index, case in enumerate(chosen)
        ),
    )


def launched_once(trial: Job) -> Job:
    """The same cases, each launched once."""
    cases = tuple(replace(case, launches=1) for case in trial.cases)
    return replace(trial, cases=cases)


def one_case_of_each_size(claim: Claim, operation: Operation) -> tuple[Case, ...]:
    """The first case of each set of sizes: what a sanitizer needs to see."""
    first = {tuple(sorted(c.sizes.items())): c for c in cases(claim, operation)[::-1]}
    return tuple(case for case in cases(claim, operation) if case in first.values())


def timed_case(claim: Claim, chosen: Sequence[Case]) -> int:
    """Index of the case with the timed sizes."""
    return [case.sizes for case in chosen].index(claim.workload.sizes)


def control_job(symbol: str, *, poison: bool) -> Job:
    """One block on one exact output: every control is `(float* y, size_t n)`."""
    launch = Launch(
        grid=(1, 1, 1),
        block=(CONTROL_THREADS, 1, 1),
        dynamic_shared_bytes=0,
        arguments=(
            Argument(kind="buffer", name="y", value=None),
            Argument(kind="scalar", name="uint64", value=CONTROL_ELEMENTS),
        ),
    )
    case = CaseJob(
        index=0,
        launches=1,
        poison=poison,
        launch=launch,
        inputs={},
        outputs={"y": 4 * CONTROL_ELEMENTS},
    )
    return Job(binary=BINARY, entry=symbol, cases=(case,))


def values_seed(claim_sha256: str, binaries: Mapping[str, str], session: int) -> int:
    """Seed of the timed values; `binaries` are digests by role.

    No source can hold the digest of what it is compiled to, so no author of a kernel
    knows the values it will be timed on.
    """
    text = "/".join([claim_sha256, *(binaries[role] for role in ROLES), str(session)])
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def timed_values(
    claim: Claim, operation: Operation, seed: int, sets: int = VALUE_SETS
) -> list[ValueSet]:
    """Inputs and expected outputs to time with; many slots share few sets.

    ClaimError for outputs that are not finite: what is timed is compared by its error.
    """
    sizes = claim.workload.sizes
    generator = operation.cases(sizes)[0].generator

    def drawn(number: int) -> ValueSet:
        inputs = operation.inputs(Case(generator=generator, seed=number, sizes=sizes))
        expected = operation.expected(inputs, sizes)
        if not all(np.isfinite(right.values).all() for right in expected.values()):
            raise ClaimError(
                f"generator {generator}, seed {number}: outputs are not finite, "
                "expected finite ones of the first generator, which is timed"
            )
        return operation.allocated(inputs, sizes), expected

    return list(in_parallel(drawn, range(seed, seed + sets), workers=sets))
