"""Derived numbers are written with nine significant digits, and checked to the ninth.

Another machine's logarithm may differ in the last bit of a double; nobody's may differ
in the ninth digit. So a recorded value is right when the recomputed one rounds to it.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

DIGITS = 9
# Half a unit of the last digit, and room for a last bit at a rounding edge.
HALF_UNIT = 0.5001


def rounded(value: Any) -> Any:
    """The same data with every float at nine significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def differences(recorded: Any, recomputed: Any, path: str = "") -> Iterator[str]:
    """Where recorded data is not what was recomputed, as `path: found, expected`."""
    if isinstance(recorded, Mapping) and isinstance(recomputed, Mapping):
        for key in sorted({*recorded, *recomputed}):
            where = f"{path}.{key}".lstrip(".")
            if key not in recorded:
                yield f"{where} is missing, expected {recomputed[key]!r}"
            elif key not in recomputed:
                yield f"{where} is {recorded[key]!r}, expected no such field"
            else:
                yield from differences(recorded[key], recomputed[key], where)
        return
    if isinstance(recorded, list) and isinstance(recomputed, (list, tuple)):
        if len(recorded) != len(recomputed):
            yield f"{path} has {len(recorded)} items, expected {len(recomputed)}"
            return
        for index, (found, expected) in enumerate(
            zip(recorded, recomputed, strict=True)
        ):
            yield from differences(found, expected, f"{path}[{index}]")
        return
    if not _agree(recorded, recomputed):
        yield f"{path} is {recorded!r}, expected {recomputed!r}"


def _agree(recorded: Any, recomputed: Any) -> bool:
    numbers = (int, float)
    if not (
        isinstance(recorded, numbers)
        and isinstance(recomputed, float)
        and not isinstance(recorded, bool)
    ):
        return bool(type(recorded) is type(recomputed) and recorded == recomputed)
    if recorded == 0 or recomputed == 0:
        return bool(recorded == recomputed)
    unit = 10.0 ** (math.floor(math.log10(abs(recorded))) + 1 - DIGITS)
    return bool(abs(recomputed - recorded) <= HALF_UNIT * unit)
