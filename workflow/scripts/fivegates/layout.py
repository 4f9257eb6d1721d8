"""Where the elements of an operand lie in its allocation: all of it, or a view."""

from dataclasses import dataclass
from math import prod

import numpy as np

from fivegates.errors import ClaimError
from fivegates.job import POISON_BYTE


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """A shape, the first element's place and the strides, all in elements.

    The allocation begins with its element 0 and ends with the last one of the view.
    """

    shape: tuple[int, ...]
    start: int
    strides: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the elements are all there is, in their order."""
        return self.start == 0 and self.strides == row_major(self.shape)

    @property
    def extent(self) -> int:
        """Elements of the allocation."""
        if 0 in self.shape:
            return self.start
        steps = zip(self.shape, self.strides, strict=True)
        return self.start + 1 + sum((size - 1) * stride for size, stride in steps)

    def places(self) -> np.ndarray:
        """Place of each element in the allocation, int64, flat."""
        axes = np.ogrid[tuple(slice(size) for size in self.shape)]
        steps = (axis * stride for axis, stride in zip(axes, self.strides, strict=True))
        return np.ravel(self.start + sum(steps, np.zeros(self.shape, np.int64)))

    def laid_out(self, array: np.ndarray) -> np.ndarray:
        """The allocation that holds an array, flat; beside its elements it is 0xff."""
        if self.is_whole:
            return array.ravel()
        rest = np.full(self.extent * array.itemsize, POISON_BYTE, np.uint8)
        allocation = rest.view(array.dtype)
        allocation[self.places()] = array.ravel()
        return allocation

    def require_apart(self, name: str) -> None:
        """ClaimError unless every element has a place of its own, none before `start`.

        Strides that are not nested in each other count as an overlap.
        """
        negative = min(self.start, *self.strides, 0) < 0
        if negative or len(self.strides) != len(self.shape):
            raise ClaimError(
                f"views gives {name} start {self.start} and strides {self.strides}, "
                f"expected none below 0 and one stride for each axis of {self.shape}"
            )
        if 0 in self.shape:
            return
        reach = 0
        for stride, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size > 1 and stride <= reach:
                raise ClaimError(
                    f"views gives {name} strides {self.strides} for shape {self.shape}:"
                    " elements overlap, expected a place of its own for each"
                )
            reach += (size - 1) * stride


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array without gaps, its last axis first."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
