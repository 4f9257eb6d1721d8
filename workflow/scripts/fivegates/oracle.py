"""What every case must come to, computed once and read by the check of either arm.

One .npz file: `INDEX.OPERAND.values` and, where it is not |values|, `.magnitude`, both
flat float64, kept as float32 or as one number where nothing is lost by that. `about`
names claim and contract by digest, and the wrong outputs that the contract takes.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.lib.npyio import NpzFile

from fivegates.claim import Claim, cases
from fivegates.contract import Case, Expected, Operation, Right
from fivegates.errors import ArtifactError
from fivegates.impostors import weaknesses
from fivegates.store import sha256


@dataclass(frozen=True, kw_only=True, slots=True)
class Oracle:
    """A file of expected outputs, read case by case, and its digest."""

    sha256: str
    accepted_impostors: tuple[str, ...]
    _arrays: NpzFile
    _operation: Operation
    _cases: Sequence[Case]

    def expected(self, index: int) -> Expected:
        """What each output of a case must be."""
        return {
            name: self._right(f"{index}.{name}", name, index)
            for name in self._operation.outputs
        }

    def _right(self, key: str, name: str, index: int) -> Right:
        sizes = self._cases[index].sizes
        shape = self._operation.layout(name, sizes).shape
        values = _unpacked(self._arrays[f"{key}.values"], shape)
        magnitude = np.abs(values)
        if f"{key}.magnitude" in self._arrays:
            magnitude = _unpacked(self._arrays[f"{key}.magnitude"], shape)
        return self._operation.right(name, values, magnitude, sizes)


def subject(claim: bytes, contract: bytes) -> str:
    """What an oracle is of: digests of a frozen claim and of its contract."""
    return f"{sha256(claim)}/{sha256(contract)}"


def compute(claim: Claim, operation: Operation, of: str) -> bytes:
    """The file for a claim; ClaimError where the oracle cannot be held to.

    `of` is its `subject`.
    """
    chosen = cases(claim, operation)
    impostors = weaknesses(operation, claim.workload.sizes, claim.tolerance)
    about = {"of": of, "accepted_impostors": impostors}
    arrays = {"about": np.array(json.dumps(about))}

    def expected_of(case: Case) -> Expected:
        return operation.expected(operation.inputs(case), case.sizes)

    with ThreadPoolExecutor() as pool:
        for index, expected in enumerate(pool.map(expected_of, chosen)):
            for name, right in expected.items():
                arrays[f"{index}.{name}.values"] = _packed(right.values)
                if not _same(right.magnitude, np.abs(right.values)):
                    arrays[f"{index}.{name}.magnitude"] = _packed(right.magnitude)
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


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
    except (EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ArtifactError(f"{source}: {error}, expected an oracle file") from None
    if about["of"] != of:
        raise ArtifactError(f"{source}: of claim/contract {about['of']}, expected {of}")
    return Oracle(
        sha256=sha256(data),
        accepted_impostors=tuple(about["accepted_impostors"]),
        _arrays=arrays,
        _operation=operation,
        _cases=cases(claim, operation),
    )
