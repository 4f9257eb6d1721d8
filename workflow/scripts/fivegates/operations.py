"""Loads `kernels/<operation>/operation.py`, which states an operation's contract."""

import importlib.util
from pathlib import Path
from types import ModuleType

from fivegates.contract import Case, Operation
from fivegates.errors import ClaimError

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
    "useful_bytes",
    "flops",
)


def contract_path(root: Path, operation: str) -> Path:
    """Where the contract of an operation lies."""
    return root / "kernels" / operation / "operation.py"


def load(root: Path, operation: str) -> Operation:
    """The contract of an operation; ClaimError when there is none or half of one."""
    path = contract_path(root, operation)
    name = path.relative_to(root).as_posix()
    if not path.is_file():
        known = sorted(p.parent.name for p in (root / "kernels").glob("*/operation.py"))
        raise ClaimError(
            f"operation is {operation!r}: {name} does not exist, "
            f"expected one of: {', '.join(known)}"
        )
    module = _execute(path, name)
    if missing := [field for field in REQUIRED if not hasattr(module, field)]:
        raise ClaimError(
            f"{name}: {', '.join(missing)} missing, expected in a contract"
        )
    return Operation(
        name=operation,
        formula=module.FORMULA,
        reference=module.REFERENCE,
        sizes=tuple(module.SIZES),
        dtypes=tuple(module.DTYPES),
        operands=module.OPERANDS,
        scalars=module.SCALARS,
        shapes=module.shapes,
        cases=lambda sizes: tuple(
            Case(generator=generator, seed=seed, sizes=case_sizes)
            for generator, seed, case_sizes in module.cases(sizes)
        ),
        inputs=lambda case: module.inputs(case.generator, case.seed, case.sizes),
        oracle=module.oracle,
        useful_bytes=module.useful_bytes,
        flops=module.flops,
    )


def _execute(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"operation_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise ClaimError(f"{name}: cannot be loaded, expected a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a file of the project's own may raise
        raise ClaimError(f"{name}: {type(error).__name__}: {error}") from None
    return module
