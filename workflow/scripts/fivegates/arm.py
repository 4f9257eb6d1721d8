"""An arm: one kernel source and a declarative launch. Data only, nothing runs here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fivegates.errors import ClaimError
from fivegates.expression import evaluate

Role = Literal["baseline", "candidate"]
ROLES: tuple[Role, ...] = ("baseline", "candidate")
SCALAR_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
RANGES = {
    f"{sign}int{bits}": (0, 2**bits - 1)
    if sign
    else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for sign in ("", "u")
    for bits in (32, 64)
}
THREADS_PER_BLOCK_LIMIT = 1024
BLOCK_DEPTH_LIMIT = 64
GRID_LIMITS = (2**31 - 1, 65535, 65535)

Extent = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Argument:
    """One kernel parameter: a buffer by operand name, or a scalar of a C type.

    The value of a buffer is the byte that the kernel's pointer starts at, None for 0.
    """

    kind: Literal["buffer", "scalar"]
    name: str
    value: float | int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A launch with every expression resolved for one set of sizes."""

    grid: Extent
    block: Extent
    dynamic_shared_bytes: int
    arguments: tuple[Argument, ...]

    @property
    def blocks(self) -> int:
        """Blocks in the grid; a grid of zero blocks launches nothing."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """One implementation in one role, as the claim declares it."""

    role: Role
    source: str
    entry: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    dynamic_shared_bytes: str
    arguments: tuple[str, ...]
    options: tuple[str, ...]

    @classmethod
    def from_dict(cls, role: Role, data: Mapping[str, Any]) -> "Arm":
        """Read the schema-checked `baseline` or `candidate` object of a claim."""
        return cls(
            role=role,
            source=data["source"],
            entry=data["entry"],
            grid=tuple(str(extent) for extent in data["grid"]),
            block=tuple(str(extent) for extent in data["block"]),
            dynamic_shared_bytes=str(data.get("dynamic_shared_bytes", 0)),
            arguments=tuple(data["arguments"]),
            options=tuple(data.get("options", ())),
        )


def resolve(
    arm: Arm,
    *,
    sizes: Mapping[str, int],
    operands: Mapping[str, int],
    scalars: Mapping[str, float],
) -> Launch:
    """Resolve the launch for these sizes; ClaimError names the field that cannot be.

    `operands` gives the bytes before the first element of each.
    """
    block = _extent(arm, "block", arm.block, sizes)
    threads = block[0] * block[1] * block[2]
    if not 1 <= threads <= THREADS_PER_BLOCK_LIMIT:
        raise ClaimError(
            f"{arm.role}.block is {list(arm.block)!r}: {threads} threads, "
            f"expected 1 to {THREADS_PER_BLOCK_LIMIT}"
        )
    if min(block) < 1 or block[2] > BLOCK_DEPTH_LIMIT:
        raise ClaimError(
            f"{arm.role}.block is {list(arm.block)!r}, expected extents of at least 1, "
            f"the third at most {BLOCK_DEPTH_LIMIT}"
        )
    grid = _extent(arm, "grid", arm.grid, sizes)
    for extent, limit in zip(grid, GRID_LIMITS, strict=True):
        if not 0 <= extent <= limit:
            raise ClaimError(
                f"{arm.role}.grid is {list(arm.grid)!r}: {extent} blocks, "
                f"expected 0 to {limit}"
            )
    shared = _field(arm, "dynamic_shared_bytes", arm.dynamic_shared_bytes, sizes)
    if shared < 0:
        raise ClaimError(
            f"{arm.role}.dynamic_shared_bytes is {arm.dynamic_shared_bytes!r}: "
            f"{shared} bytes, expected at least 0"
        )
    return Launch(
        grid=grid,
        block=block,
        dynamic_shared_bytes=shared,
        arguments=tuple(
            _argument(arm, index, text, sizes, operands, scalars)
            for index, text in enumerate(arm.arguments)
        ),
    )


def _field(arm: Arm, field: str, text: str, sizes: Mapping[str, int]) -> int:
    try:
        return evaluate(text, sizes)
    except ClaimError as error:
        raise ClaimError(f"{arm.role}.{field} is {error}") from None


def _extent(
    arm: Arm, field: str, texts: tuple[str, ...], sizes: Mapping[str, int]
) -> Extent:
    values = [
        _field(arm, f"{field}[{axis}]", text, sizes) for axis, text in enumerate(texts)
    ]
    x, y, z = [*values, 1, 1, 1][:3]
    return x, y, z


def _argument(
    arm: Arm,
    index: int,
    text: str,
    sizes: Mapping[str, int],
    operands: Mapping[str, int],
    scalars: Mapping[str, float],
) -> Argument:
    field = f"arguments[{index}]"
    if text in operands:
        return Argument(kind="buffer", name=text, value=operands[text] or None)
    kind, _, value = text.partition(" ")
    if kind not in SCALAR_TYPES or not value:
        raise ClaimError(
            f"{arm.role}.{field} is {text!r}, expected an operand "
            f"({', '.join(operands)}) or '<type> <value>' with a type of "
            f"{', '.join(SCALAR_TYPES)}"
        )
    number: float | None = scalars.get(value)
    if number is None and kind.startswith("float"):
        number = _literal(value)
    if number is None:
        number = _field(arm, field, value, sizes)
    low, high = RANGES.get(kind, (-math.inf, math.inf))
    if kind in RANGES and (number != int(number) or not low <= number <= high):
        raise ClaimError(
            f"{arm.role}.{field} is {text!r}: {number}, expected an integer from {low} "
            f"to {high}"
        )
    return Argument(kind="scalar", name=kind, value=number)


def _literal(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
