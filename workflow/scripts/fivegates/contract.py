"""The contract of an operation, as the core sees it: what is computed, and from what.

`kernels/<operation>/operation.py` states it; `operations.py` loads it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

DTYPES: Mapping[str, int] = {"float32": 4}

Sizes = Mapping[str, int]
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One checked input: which generator fills it, from which seed, at which sizes."""

    generator: str
    seed: int
    sizes: Sizes

    def label(self) -> str:
        """Name for messages: `n=257, seed=7, lab`."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"{sizes}, seed={self.seed}, {self.generator}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation.

    `inputs` gives arrays of the claim's dtype; `oracle` gives float64 arrays of the
    outputs' shapes, computed from the inputs as represented.
    """

    name: str
    formula: str
    reference: str
    sizes: tuple[str, ...]
    dtypes: tuple[str, ...]
    operands: Mapping[str, Literal["input", "output"]]
    scalars: Mapping[str, float]
    shapes: Callable[[Sizes], Mapping[str, tuple[int, ...]]]
    cases: Callable[[Sizes], tuple[Case, ...]]
    inputs: Callable[[Case], Arrays]
    oracle: Callable[[Arrays, Sizes], Arrays]
    useful_bytes: Callable[[Sizes], int]
    flops: Callable[[Sizes], int]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Operands that the kernel writes."""
        return tuple(name for name, role in self.operands.items() if role == "output")
