"""What every case must come to, computed once and read by the check of either arm.

One .npz file: `INDEX.OPERAND.values` and, where it is not |values|, `.magnitude`, both
flat float64, kept as float32 or as one number where nothing is lost by that. `about`
names claim and contract by digest, and the wrong outputs that the contract takes.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.npyio import NpzFile

from fivegates.claim import Claim, cases
from fivegates.contract import Case, Expected, Operation, Right, Sizes, in_case
from fivegates.errors import ArtifactError
from fivegates.impostors import weaknesses
from fivegates.store import sha256
from fivegates.trial import in_parallel

DAMAGE = (EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile)


@dataclass(frozen=True, kw_only=True, slots=True)
class Oracle:
    """A file of expected outputs, read case by case, and its digest."""

    sha256: str
    accepted_impostors: tuple[str, ...]
    _source: str
    _arrays: NpzFile
    _operation: Operation
    _cases: Sequence[Case]

    def expected(self, index: int) -> Expected:
        """What each output of a case must be; ArtifactError for a damaged file."""
        sizes = self._cases[index].sizes
        try:
            return {
                name: self._right(f"{index}.{name}", name, sizes)
                for name in self._operation.outputs
            }
        except DAMAGE as error:
            raise _damaged(self._source, error) from None

    def _right(self, key: str, name: str, sizes: Sizes) -> Right:
        shape = self._operation.layout(name, sizes).shape
        values = _unpacked(self._arrays[f"{key}.values"], shape)
        magnitude = np.abs(values)
        if f"{key}.magnitude" in self._arrays:
            magnitude = _unpacked(self._arrays[f"{key}.magnitude"], shape)
        return self._operation.right(name, values, magnitude, sizes)


def subject(claim: bytes, contract: bytes, harness: bytes) -> str:
    """What an oracle is of: digests of a frozen claim, its contract and the harness."""
    return "/".join(map(sha256, (claim, contract, harness)))


def compute(claim: Claim, operation: Operation, of: str) -> bytes:
    """The file for a claim; ContractError where the oracle cannot be held to.

    `of` is its `subject`.
    """
    chosen = cases(claim, operation)
    impostors = weaknesses(operation, claim.workload.sizes, claim.tolerance)
    about = {"of": of, "accepted_impostors": impostors}
    arrays = {"about": np.array(json.dumps(about))}

    def expected_of(case: Case) -> Expected:
        with in_case(case):
            return operation.expected(operation.inputs(case), case.sizes)

    for index, expected in enumerate(in_parallel(expected_of, chosen)):
        for name, right in expected.items():
            arrays[f"{index}.{name}.values"] = _packed(right.values)
            if not _same(right.magnitude, np.abs(right.values)):
                arrays[f"{index}.{name}.magnitude"] = _packed(right.magnitude)
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _damaged(source: str, error: Exception) -> ArtifactError:
    return ArtifactError(f"{source}: {error}, expected an oracle file")


def _packed(values: np.ndarray) -> np.ndarray:
    if values.size and _same(values, np.broadcast_to(values[:1], values.shape)):
        return values[:1]
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    return narrow if _same(narrow, values) else values


def _unpacked(packed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    values = packed.astype(np.float64)
    return np.full(shape, values) if values.size == 1 else values.reshape(shape)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    signs = np.array_equal(np.signbit(one), np.signbit(other))
    return signs and np.array_equal(one, other, equal_nan=True)


def read(
    data: bytes, source: str, claim: Claim, operation: Operation, of: str
) -> Oracle:
    """What `compute` wrote; ArtifactError where it is not that, or of another claim."""
    try:
        arrays = np.load(io.BytesIO(data), allow_pickle=False)
        about = json.loads(str(arrays["about"]))
        found, impostors = about["of"], tuple(about["accepted_impostors"])
    except DAMAGE as error:
        raise _damaged(source, error) from None
    if found != of:
        raise ArtifactError(
            f"{source}: of claim/contract/harness {found}, expected {of}"
        )
    return Oracle(
        sha256=sha256(data),
        accepted_impostors=impostors,
        _source=source,
        _arrays=arrays,
        _operation=operation,
        _cases=cases(claim, operation),
    )
