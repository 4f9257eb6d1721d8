"""Single faults in correct arms, and which gate refuses each on the host.

`tests/mutants/<operation>.yaml` names a claim and, for either of its arms, one textual
edit a mutant, or another block, with the gate that must refuse it. As a command it
prints the matrix:

    python tests/mutation.py [--output FILE.json] [OPERATION ...]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from fivegates import checking, operations, preflight, reference  # noqa: E402
from fivegates.backend import Kind  # noqa: E402
from fivegates.checked_host import check  # noqa: E402
from fivegates.claim import Claim, cases  # noqa: E402
from fivegates.constructs import needs_cuda_headers  # noqa: E402
from fivegates.contract import Arrays, Case, Expected, Operation  # noqa: E402
from fivegates.exercise import Exercised, compare_outputs, exercise_once  # noqa: E402
from fivegates.headers import include_folder  # noqa: E402
from fivegates.host.build import compile_arm  # noqa: E402
from fivegates.host.compiler import find_compiler  # noqa: E402
from fivegates.job import SHARED_FILLS  # noqa: E402
from fivegates.record import Verdict  # noqa: E402
from fivegates.store import parse, sha256  # noqa: E402
from fivegates.trial import job, one_case_of_each_size  # noqa: E402
from freeze_claim import freeze  # noqa: E402

MUTANTS = ROOT / "tests/mutants"
SURVIVED = "-"
Tried = tuple[Case, Arrays, Expected]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One edit of one arm, and the gate or tool that must refuse it."""

    operation: str
    claim: str
    name: str
    role: str
    old: str = ""
    new: str = ""
    block: Sequence[int] = ()
    gate: str

    def __post_init__(self) -> None:
        if bool(self.old) == bool(self.block):
            raise ValueError(
                f"{self.operation}/{self.name}: old is {self.old!r} and block "
                f"{self.block!r}, expected one of them"
            )

    def identity(self) -> dict[str, Any]:
        """What a row of a matrix says of the fault itself."""
        return {
            "operation": self.operation,
            "mutant": self.name,
            "claim": self.claim,
            "role": self.role,
            "block": list(self.block),
            "source_sha256": sha256(self.source().encode()),
        }

    def faulty_claim(self) -> Claim:
        """The claim, whose arm is launched in the block that the fault names."""
        claim = frozen(self.claim)
        if not self.block:
            return claim
        arm = replace(claim.arms[self.role], block=tuple(map(str, self.block)))
        return replace(claim, arms={**claim.arms, self.role: arm})

    def source(self) -> str:
        """The arm with its fault; ValueError unless the edit has one place."""
        arm = ROOT / frozen(self.claim).arms[self.role].source
        text = arm.read_text()
        if self.block:
            return text
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.operation}/{self.name}: {self.old!r} is {text.count(self.old)} "
                f"times in {arm.name}, expected once"
            )
        return text.replace(self.old, self.new)


def mutants(operation: str) -> list[Mutant]:
    """Those of one operation's file."""
    listed = yaml.safe_load((MUTANTS / f"{operation}.yaml").read_text())
    return [
        Mutant(**{"operation": operation, "claim": listed["claim"], **item})
        for item in listed["mutants"]
    ]


def mutated_operations() -> list[str]:
    """Operations with a file of mutants."""
    return sorted(path.stem for path in MUTANTS.glob("*.yaml"))


@cache
def frozen(name: str, workload: str = "") -> Claim:
    """A claim of config/claims, or one workload of a portfolio there."""
    file = f"config/claims/{name}.yaml"
    document = yaml.safe_load((ROOT / file).read_text())
    policy = yaml.safe_load((ROOT / "config/config.yaml").read_text())["policy"]
    return Claim.from_dict(parse(freeze(file, document, policy, workload), file))


@cache
def contract(operation: str, dtype: str) -> Operation:
    """A contract of kernels."""
    return operations.load(ROOT, operation, dtype)


@lru_cache(maxsize=2)
def known(name: str, shift: int) -> list[Tried]:
    """Cases of a claim with other seeds, inputs, and what must come of them."""
    claim = frozen(name)
    operation = contract(claim.operation, claim.workload.dtype)
    chosen = [replace(c, seed=c.seed + shift) for c in cases(claim, operation)]
    found = [operation.inputs(case) for case in chosen]
    return [
        (case, inputs, operation.expected(inputs, case.sizes))
        for case, inputs in zip(chosen, found, strict=True)
    ]


def refused_by(
    claim: Claim, role: str, source: str, *, shift: int = 0, gates: bool = True
) -> tuple[str, str]:
    """Gate or tool that refuses the source in a role of a claim, and what it says.

    Without `gates` only gate 1 looks.
    """
    said = _judged(claim, role, source, shift)
    if said or not gates:
        return ("reference", said) if said else (SURVIVED, "")
    return checked(claim, role, source)


def _image(claim: Claim, role: str, source: str, flavour: str) -> bytes:
    arm = claim.arms[role]
    headers = include_folder() if needs_cuda_headers(source) else None
    built = compile_arm(
        find_compiler(),
        source,
        name=arm.source,
        entry=arm.entry,
        chosen=(flavour,),
        headers=headers,
    )
    if built.refused:
        raise ValueError(f"{arm.source}: {built.refused}")
    return built.images[flavour]


def _judged(claim: Claim, role: str, source: str, shift: int) -> str:
    """What gate 1 has against it on the host."""
    image = _image(claim, role, source, "values")
    launches = preflight.sweep([case for case, _, _ in known(claim.name, shift)])
    entry = claim.arms[role].entry
    return judged(
        "host", claim, role, image, entry, launches, source=source, shift=shift
    )


def judged(
    kind: Kind,
    claim: Claim,
    role: str,
    binary: bytes,
    symbol: str,
    launches: int | Sequence[int],
    *,
    source: str = "",
    shift: int = 0,
) -> str:
    """What gate 1 of a backend has against a binary; nothing if it passes."""
    operation = contract(claim.operation, claim.workload.dtype)
    tried = known(claim.name, shift)
    trial = job(
        claim,
        operation,
        role,
        [case for case, _, _ in tried],
        entry=symbol,
        launches=launches,
        poison=True,
    )
    inputs = [operation.allocated(found, case.sizes) for case, found, _ in tried]
    timeout_s = claim.policy.reference.timeout_s
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        folder = Path(temporary, "arm")
        exercised = exercise_once(
            kind, folder, trial, binary, inputs, source=source, timeout_s=timeout_s
        )
        verdict = _verdict_of(claim, tried, folder, exercised)
    return "" if verdict.status == "pass" else f"{verdict.reason}: {verdict.message}"


def _verdict_of(
    claim: Claim, tried: list[Tried], folder: Path, exercised: Exercised
) -> Verdict:
    """Gate 1's verdict on the outputs that lie in a folder."""
    found = []
    for report in exercised.cases:
        case, _, right = tried[report.index]
        outputs = compare_outputs(folder, report, right, claim.tolerance)
        found.append(reference.case_result(case, report, outputs))
    late = tried[len(found)][0] if exercised.timed_out else None
    measured = {
        "accepted_impostors": [],
        "shared_fills": list(SHARED_FILLS),
        "timed_out": None if late is None else reference.case_key(late),
        "cases": found,
    }
    return reference.judge(measured, claim)


def checked(claim: Claim, role: str, source: str) -> tuple[str, str]:
    """The first tool of the checker that has something against it."""
    operation = contract(claim.operation, claim.workload.dtype)
    chosen = one_case_of_each_size(claim, operation)
    arm = claim.arms[role]
    trial = job(
        claim, operation, role, chosen, entry=arm.entry, launches=1, poison=True
    )
    runs, logs = check(
        find_compiler(),
        {"checked": _image(claim, role, source, "checked")},
        source=source,
        file=arm.source,
        job=trial,
        inputs=[operation.allocations(case) for case in chosen],
        timeout_s=claim.policy.sanitizer.timeout_s,
    )
    texts = {name: data.decode() for name, data in logs.items()}
    for tool in checking.CHECKS:
        found = checking.derive(tool, runs, texts, arm.entry)
        verdict = checking.judge(runs, found)
        if verdict.status != "pass":
            return tool, f"{verdict.reason}: {verdict.message}"
    return SURVIVED, ""


def tried(mutant: Mutant) -> dict[str, Any]:
    """One row of the matrix."""
    source = mutant.source()
    gate, said = refused_by(mutant.faulty_claim(), mutant.role, source)
    return {
        **mutant.identity(),
        "expected": mutant.gate,
        "refused_by": gate,
        "said": said,
    }


def require_known(
    parser: argparse.ArgumentParser, asked: Sequence[str], known: Sequence[str]
) -> None:
    """End with an error of usage for another name than these."""
    for name in asked:
        if name not in known:
            parser.error(f"found {name!r}, expected some of {', '.join(known)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operations", nargs="*", default=mutated_operations())
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    require_known(parser, arguments.operations, mutated_operations())
    chosen = [m for name in arguments.operations for m in mutants(name)]
    with ProcessPoolExecutor() as pool:
        rows = []
        for row in pool.map(tried, chosen):
            rows.append(row)
            mark = "" if row["refused_by"] == row["expected"] else "  UNEXPECTED"
            print(
                f"{row['operation']:<12} {row['mutant']:<28} {row['refused_by']:<10}"
                f"{mark} {row['said'][:90]}",
                flush=True,
            )
    survivors = [row for row in rows if row["refused_by"] == SURVIVED]
    print(f"{len(rows)} mutants, {len(survivors)} survived")
    if arguments.output:
        text = json.dumps(rows, indent=1, sort_keys=True) + "\n"
        arguments.output.write_text(text)
    return int(any(row["refused_by"] != row["expected"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
