"""Loads `kernels/<operation>/operation.py`, which states an operation's contract."""

import difflib
import importlib.util
import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fivegates.contract import (
    DTYPES,
    Arrays,
    Case,
    Limit,
    Operation,
    Sizes,
    contract_file,
    stated_order,
)
from fivegates.errors import ClaimError, ContractError

# The first of each is what a contract has that does not say.
CHOICES = {
    "ORDER": ("fixed", "free", "unordered"),
    "NONFINITE": ("refused", "propagate"),
    "SIGNED_ZERO": ("equal", "exact"),
}
REQUIRED = (
    "FORMULA",
    "REFERENCE",
    "SIZES",
    "DTYPES",
    "OPERANDS",
    "SCALARS",
    "shapes",
    "cases",
    "inputs",
    "oracle",
    "flops",
)
OPTIONAL = (
    *CHOICES,
    "OPERAND_DTYPES",
    "TOLERANCE",
    "STRESS",
    "magnitude",
    "views",
    "touched",
)
MAPPINGS = ("shapes", "views", "touched", "inputs", "oracle", "magnitude")
# How alike a name must be to one that is known to be taken for a slip.
ALIKE = 0.9


def contract_path(root: Path, operation: str) -> Path:
    """Where the contract of an operation lies."""
    return root / contract_file(operation)


def load(root: Path, operation: str, dtype: str = "float32") -> Operation:
    """The contract of an operation; ClaimError where there is none.

    ContractError for half of one. What its functions raise becomes one too, that names
    the line; `shapes` and `views` may refuse sizes with a ValueError. `dtype` is that
    of every operand to which the contract gives none of its own.
    """
    module = _module(root, operation, dtype)
    called = partial(_called, module, contract_file(operation))
    shapes = called("shapes", passed=ValueError)

    def whole(sizes: Sizes) -> Mapping[str, int]:
        return {name: math.prod(shape) for name, shape in shapes(sizes).items()}

    touched = called("touched", otherwise=whole)
    own = getattr(module, "OPERAND_DTYPES", {})
    kinds = {operand: own.get(operand, dtype) for operand in module.OPERANDS}
    limits = getattr(module, "TOLERANCE", None)
    return Operation(
        name=operation,
        dtype=dtype,
        operand_dtypes=kinds,
        limits=limits and {name: Limit(**limit) for name, limit in limits.items()},
        order=_chosen(module, "ORDER"),
        nonfinite=_chosen(module, "NONFINITE"),
        signed_zero=_chosen(module, "SIGNED_ZERO"),
        stress=tuple(getattr(module, "STRESS", ())),
        magnitude=called("magnitude"),
        formula=module.FORMULA,
        reference=module.REFERENCE,
        sizes=tuple(module.SIZES),
        dtypes=tuple(module.DTYPES),
        operands=module.OPERANDS,
        scalars=module.SCALARS,
        shapes=shapes,
        views=called("views", passed=ValueError, otherwise=lambda _: {}),
        cases=lambda sizes: tuple(
            Case(generator=generator, seed=seed, sizes=case_sizes)
            for generator, seed, case_sizes in called("cases")(sizes)
        ),
        inputs=lambda case: _represented(
            called("inputs")(case.generator, case.seed, case.sizes), kinds
        ),
        oracle=called("oracle"),
        useful_bytes=lambda sizes: sum(
            DTYPES[kinds[name]] * count for name, count in touched(sizes).items()
        ),
        flops=called("flops"),
    )


def _module(root: Path, operation: str, dtype: str) -> ModuleType:
    """The file of a contract, executed, with all that it must say in known words."""
    path, name = contract_path(root, operation), contract_file(operation)
    if not path.is_file():
        known = sorted(p.parent.name for p in (root / "kernels").glob("*/operation.py"))
        raise ClaimError(
            f"operation is {operation!r}: {name} does not exist, "
            f"expected one of: {', '.join(known)}"
        )
    module = _execute(path, name)
    _require_no_slip(module, name)
    if missing := [field for field in REQUIRED if not hasattr(module, field)]:
        raise ContractError(
            f"{name}: {', '.join(missing)} missing, expected in a contract"
        )
    _require_known(module, name, dtype)
    return module


def _called(
    module: ModuleType,
    file: str,
    field: str,
    *,
    passed: type[Exception] | tuple[()] = (),
    otherwise: Callable[..., Any] | None = None,
) -> Any:
    """A function of a contract; what it raises becomes one line with its place."""
    if not hasattr(module, field):
        return otherwise

    def call(*arguments: Any) -> Any:
        try:
            found = getattr(module, field)(*arguments)
        except passed:
            raise
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [f.lineno for f in frames if f.filename == module.__file__]
            place = f"{file}:{lines[-1]}" if lines else file
            raise ContractError(
                f"{place}: {field} raises {type(error).__name__}: {error}"
            ) from None
        if field in MAPPINGS and not isinstance(found, Mapping):
            raise ContractError(
                f"{file}: {field} gives {type(found).__name__}, expected a dict"
            )
        return found

    return call


def _require_no_slip(module: ModuleType, name: str) -> None:
    """ContractError for a name that is nearly one which the contract lacks."""
    lacking = [n for n in (*REQUIRED, *OPTIONAL) if not hasattr(module, n)]
    for found in vars(module):
        for meant in difflib.get_close_matches(found, lacking, n=1, cutoff=ALIKE):
            raise ContractError(f"{name}: {found} is no known name, expected {meant}")


def _chosen(module: ModuleType, field: str) -> Any:
    return getattr(module, field, CHOICES[field][0])


def _require_known(module: ModuleType, name: str, dtype: str) -> None:
    """ContractError for a word that would be taken for another, or for nothing."""
    for field in ("SIZES", "DTYPES", "STRESS"):
        if isinstance(found := getattr(module, field, ()), str):
            raise ContractError(
                f"{name}: {field} is {found!r}, expected a tuple of strings"
            )
    used = {dtype, *getattr(module, "OPERAND_DTYPES", {}).values()}
    if unknown := sorted(used - set(DTYPES)):
        raise ContractError(
            f"{name}: dtype {', '.join(unknown)}, expected {_or(DTYPES)}"
        )
    for field, known in CHOICES.items():
        if (found := _chosen(module, field)) not in known:
            raise ContractError(f"{name}: {field} is {found!r}, expected {_or(known)}")
    order = stated_order(Path(str(module.__file__)).read_text())
    if order != _chosen(module, "ORDER"):
        raise ContractError(
            f"{name}: ORDER is {_chosen(module, 'ORDER')!r}, expected it as a string "
            "in the file, as a verifier does not execute it"
        )
    _require_exact(module, name)
    generators = tuple(getattr(module, "GENERATORS", ()))
    for field, names, known in (
        ("STRESS", getattr(module, "STRESS", ()), generators),
        ("OPERAND_DTYPES", getattr(module, "OPERAND_DTYPES", ()), module.OPERANDS),
    ):
        if unknown := [item for item in names if item not in known]:
            raise ContractError(
                f"{name}: {field} names {', '.join(unknown)}, expected {_or(known)}"
            )
    if generators and set(generators) <= set(getattr(module, "STRESS", ())):
        raise ContractError(f"{name}: STRESS names every generator, expected one left")
    limits = getattr(module, "TOLERANCE", None)
    if limits is not None and set(limits) != set(module.DTYPES):
        raise ContractError(
            f"{name}: TOLERANCE is for {', '.join(limits)}, expected "
            f"{', '.join(module.DTYPES)}"
        )
    for dtype, limit in (limits or {}).items():
        if set(limit) != {"atol", "rtol"}:
            raise ContractError(
                f"{name}: TOLERANCE[{dtype!r}] has {', '.join(limit)}, expected atol "
                "and rtol"
            )


def _require_exact(module: ModuleType, name: str) -> None:
    """ContractError where elements in any order could be taken for each other."""
    if _chosen(module, "ORDER") != "unordered":
        return
    limits = (getattr(module, "TOLERANCE", None) or {}).values()
    exact = limits and all(set(limit.values()) == {0.0} for limit in limits)
    words = (_chosen(module, "NONFINITE"), _chosen(module, "SIGNED_ZERO"))
    outputs = list(module.OPERANDS.values()).count("output")
    if not exact or words != ("refused", "equal") or outputs != 1:
        raise ContractError(
            f"{name}: ORDER is 'unordered', expected one output, a TOLERANCE of 0 for "
            "each dtype, NONFINITE 'refused' and SIGNED_ZERO 'equal'"
        )


def _or(known: Iterable[str]) -> str:
    return " or ".join(known)


def _represented(arrays: Arrays, dtypes: Mapping[str, str]) -> Arrays:
    """The arrays as the kernel gets them: in their own dtypes, contiguous."""
    with np.errstate(over="ignore"):
        return {
            name: np.ascontiguousarray(array, dtype=dtypes.get(name))
            for name, array in arrays.items()
        }


def _execute(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"operation_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise ContractError(f"{name}: cannot be loaded, expected a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a file of the project's own may raise
        raise ContractError(f"{name}: {type(error).__name__}: {error}") from None
    return module
