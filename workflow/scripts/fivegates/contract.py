"""The contract of an operation, as the core sees it: what is computed, and from what.

`kernels/<operation>/operation.py` states it; `operations.py` loads it.
"""

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import ml_dtypes  # noqa: F401 - makes NumPy know bfloat16 by name
import numpy as np

from fivegates.errors import ClaimError, ContractError
from fivegates.layout import Layout, row_major

DTYPES: Mapping[str, int] = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
}

# Integers that read as the poison that outputs are filled with.
UNWRITTEN: Mapping[str, int] = {"int32": -1, "uint32": 2**32 - 1}

# fixed: launches give equal bits. free: the last bits may differ. unordered: elements
# may lie in any order.
Order = Literal["fixed", "free", "unordered"]
Sizes = Mapping[str, int]
Arrays = Mapping[str, np.ndarray]


def sizes_text(sizes: Sizes) -> str:
    """`cols=257, rows=3`, sorted as in a record."""
    return ", ".join(f"{name}={value}" for name, value in sorted(sizes.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One checked input: which generator fills it, from which seed, at which sizes."""

    generator: str
    seed: int
    sizes: Sizes

    def label(self) -> str:
        """Name for messages: `n=257, seed=7, lab`."""
        return f"{sizes_text(self.sizes)}, seed={self.seed}, {self.generator}"


@contextmanager
def in_case(case: Case) -> Iterator[None]:
    """Add to an error of a contract which case it is of."""
    try:
        yield
    except ContractError as error:
        raise ContractError(f"{error}, in case {case.label()}") from None


def digest(cases: Sequence[Case]) -> str:
    """Digest of a plan of cases: generator, seed and sizes of each, in its order."""
    rows = [[case.generator, case.seed, dict(case.sizes)] for case in cases]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def contract_file(operation: str) -> str:
    """Where the contract of an operation lies, from the repository's root."""
    return f"kernels/{operation}/operation.py"


def stated_order(text: str) -> str | None:
    """ORDER as the text of a contract states it, which is not executed.

    "fixed" where it does not; None where it is no string, or the text no Python.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    values = [
        node.value
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == "ORDER"
    ]
    if not values:
        return "fixed"
    last = values[-1]
    found = last.value if isinstance(last, ast.Constant) else None
    return found if isinstance(found, str) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """The loosest tolerance that a claim may declare."""

    atol: float
    rtol: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    """What an output must be, float64, flat, and what its error is relative to.

    `dtype` is that of the output; `signed_zero` says that -0 is not 0; `magnitude` is
    |r|, or for a sum of many terms what their rounding is relative to. `layout` is that
    of an output which is a view: its values are flat, its allocation is not. Those of
    an `unordered` output are sorted.
    """

    values: np.ndarray
    magnitude: np.ndarray
    dtype: str = "float32"
    signed_zero: bool = False
    layout: Layout | None = None
    unordered: bool = False

    def arranged(self, actual: np.ndarray) -> np.ndarray:
        """An output, flat, each element at the place of the one that it must be."""
        flat = actual.ravel()
        return flat[matching(flat, self.values)] if self.unordered else flat

    @property
    def extent(self) -> int:
        """Elements of the output's allocation."""
        return self.values.size if self.layout is None else self.layout.extent

    def in_place(self, values: np.ndarray) -> np.ndarray:
        """Float64 values where the elements lie, and NaN beside those of a view."""
        return values if self.layout is None else self.layout.laid_out(values)

    def allowed(self, atol: float, rtol: float) -> np.ndarray:
        """Error that each element may have: `atol + rtol*magnitude`.

        Where the magnitude is not finite there is no error to allow.
        """
        finite = np.isfinite(self.magnitude)
        return np.asarray(atol + rtol * np.where(finite, self.magnitude, 0.0))


def matching(actual: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which element of `actual` belongs to each of the sorted `values`, of one size.

    Equal ones belong together, and those left over in their order.
    """
    order = np.argsort(actual.astype(np.float64), kind="stable")
    found = actual[order].astype(np.float64)
    number = np.arange(found.size) - np.searchsorted(found, found)
    place = np.searchsorted(values, found) + number
    known = place < np.searchsorted(values, found, side="right")
    chosen = np.full(found.size, -1)
    chosen[place[known]] = order[known]
    chosen[chosen < 0] = order[~known]
    return chosen


Expected = Mapping[str, Right]


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation in one dtype.

    `inputs` gives arrays as the kernel gets them; `oracle` and `magnitude` give float64
    arrays of the outputs' shapes, computed from the inputs as represented. `stress`
    names generators whose values no tolerance can tell apart from wrong ones; `limits`
    is None where the contract leaves the tolerance to the claim. `views` gives start
    and strides, in elements, of operands that are not all of their allocation.
    """

    name: str
    formula: str
    reference: str
    dtype: str
    sizes: tuple[str, ...]
    dtypes: tuple[str, ...]
    operands: Mapping[str, Literal["input", "output"]]
    operand_dtypes: Mapping[str, str]
    scalars: Mapping[str, float]
    limits: Mapping[str, Limit] | None
    order: Order
    nonfinite: Literal["refused", "propagate"]
    signed_zero: Literal["equal", "exact"]
    stress: tuple[str, ...]
    shapes: Callable[[Sizes], Mapping[str, tuple[int, ...]]]
    views: Callable[[Sizes], Mapping[str, tuple[int, tuple[int, ...]]]]
    cases: Callable[[Sizes], tuple[Case, ...]]
    inputs: Callable[[Case], Arrays]
    oracle: Callable[[Arrays, Sizes], Arrays]
    magnitude: Callable[[Arrays, Sizes], Arrays] | None
    useful_bytes: Callable[[Sizes], int]
    flops: Callable[[Sizes], int]

    @property
    def file(self) -> str:
        """Where the contract is written, for messages."""
        return contract_file(self.name)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Operands that the kernel writes."""
        return tuple(name for name, role in self.operands.items() if role == "output")

    def dtype_of(self, operand: str) -> str:
        """The dtype of an operand: the claim's, where the contract gives it none."""
        return self.operand_dtypes.get(operand, self.dtype)

    def itemsize(self, operand: str) -> int:
        """Bytes of an element of an operand."""
        return DTYPES[self.dtype_of(operand)]

    def layout(self, operand: str, sizes: Sizes) -> Layout:
        """Where an operand's elements lie; ClaimError where two would share a place."""
        try:
            shapes, views = self.shapes(sizes), self.views(sizes)
        except ValueError as error:
            raise ClaimError(str(error)) from None
        self._require_names("shapes", shapes, self.operands)
        if unknown := [name for name in views if name not in self.operands]:
            known = " or ".join(self.operands)
            raise ContractError(
                f"{self.file}: views names {', '.join(unknown)}, expected {known}"
            )
        shape = tuple(shapes[operand])
        start, strides = views.get(operand, (0, row_major(shape)))
        layout = Layout(shape=shape, start=start, strides=tuple(strides))
        layout.require_apart(operand)
        return layout

    def nbytes(self, operand: str, sizes: Sizes) -> int:
        """Bytes of an operand's allocation."""
        return self.itemsize(operand) * self.layout(operand, sizes).extent

    def allocations(self, case: Case) -> Arrays:
        """What the allocations of a case's inputs hold, each flat."""
        return self.allocated(self.inputs(case), case.sizes)

    def allocated(self, arrays: Arrays, sizes: Sizes) -> Arrays:
        """What the allocations of these arrays hold, each flat."""
        self._require_inputs(arrays, sizes)
        return {
            name: self.layout(name, sizes).laid_out(array)
            for name, array in arrays.items()
        }

    def _require_names(
        self, what: str, found: Iterable[str], known: Iterable[str]
    ) -> None:
        if set(found) != set(known):
            raise ContractError(
                f"{self.file}: {what} gives {', '.join(found) or 'nothing'}, expected "
                f"{', '.join(known)}"
            )

    def _require_shapes(self, what: str, found: Arrays, sizes: Sizes) -> None:
        shapes = self.shapes(sizes)
        for name, array in found.items():
            if np.shape(array) != (shape := tuple(shapes[name])):
                raise ContractError(
                    f"{self.file}: {what} gives {name} of shape {np.shape(array)}, "
                    f"expected {shape}"
                )

    def _require_inputs(self, found: Arrays, sizes: Sizes) -> None:
        inputs = [name for name, role in self.operands.items() if role == "input"]
        self._require_names("inputs", found, inputs)
        self._require_shapes("inputs", found, sizes)

    def _require_outputs(self, what: str, found: Arrays, sizes: Sizes) -> None:
        """ContractError unless there is each output, in its shape, in float64."""
        self._require_names(what, found, self.outputs)
        self._require_shapes(what, found, sizes)
        for name, array in found.items():
            dtype = np.asarray(array).dtype
            if dtype != np.float64:
                raise ContractError(
                    f"{self.file}: {what} gives {name} in {dtype}, expected float64"
                )

    def expected(self, arrays: Arrays, sizes: Sizes) -> Expected:
        """What each output must be; ContractError where the oracle cannot be held to.

        A contract that says what becomes of NaN and infinity may have them.
        """
        self._require_inputs(arrays, sizes)
        right = self.oracle(arrays, sizes)
        self._require_outputs("oracle", right, sizes)
        against = right
        if self.magnitude is not None:
            against = self.magnitude(arrays, sizes)
            self._require_outputs("magnitude", against, sizes)
        for name, values in right.items():
            if self.nonfinite == "refused" and not np.isfinite(values).all():
                raise ContractError(
                    f"{self.file}: oracle gives {name} that is not finite, expected "
                    "finite values, or NONFINITE = 'propagate'"
                )
            if (values == UNWRITTEN.get(self.dtype_of(name))).any():
                raise ContractError(
                    f"{self.file}: oracle gives {name} with all bits set, expected a "
                    "value that can be told from an unwritten one"
                )
        return {
            name: self.right(name, r, against[name], sizes) for name, r in right.items()
        }

    def right(
        self, name: str, values: np.ndarray, magnitude: np.ndarray, sizes: Sizes
    ) -> Right:
        """What an output must be, of its float64 values and what errors relate to."""
        layout, unordered = self.layout(name, sizes), self.order == "unordered"
        values, magnitude = values.ravel(), np.abs(magnitude).ravel()
        if unordered:
            order = np.argsort(values)
            values, magnitude = values[order], magnitude[order]
        return Right(
            values=values,
            magnitude=magnitude,
            dtype=self.dtype_of(name),
            signed_zero=self.signed_zero == "exact",
            layout=None if layout.is_whole else layout,
            unordered=unordered,
        )
