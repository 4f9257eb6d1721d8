"""Stream compaction: y holds the x[i] > 0, in any order. NumPy only.

How many there are is a size, `kept`: inputs are made so that it holds. Nothing is
computed, so the tolerance is 0; which element lies where depends on which thread comes
first, so outputs are compared by what they hold. An element that is lost, or is there
twice, shows as that.
"""

import numpy as np

FORMULA = "y = the x[i] > 0 for i < n, in any order; there are `kept`"
REFERENCE = "the same elements on the CPU, in float64"
SIZES = ("n", "kept")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}
ORDER = "unordered"

SIZES_OF_X = (0, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 1024, 1025, 4095, 4096, 4097)
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand; ValueError where more is kept than there is."""
    if sizes["kept"] > sizes["n"]:
        raise ValueError(f"kept is {sizes['kept']}, expected at most n, {sizes['n']}")
    return {"x": (sizes["n"],), "y": (sizes["kept"],)}


def cases(sizes):
    """(generator, seed, sizes): around a tile, none, half, all kept; timed sizes."""
    small = [
        {"n": n, "kept": kept} for n in SIZES_OF_X for kept in sorted({0, n // 2, n})
    ]
    chosen = [("scattered", SEEDS[0], s) for s in small if s != sizes]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def values(draw, n):
    """Positive values, hardly two of them equal."""
    return 2.0 ** draw.uniform(-20, 20, n)


def scattered(draw, n, kept):
    """Which are kept is drawn."""
    x = -values(draw, n)
    x[draw.permutation(n)[:kept]] *= -1
    return x


def clustered(draw, n, kept):
    """All that is kept is in one run, somewhere."""
    x = -values(draw, n)
    start = draw.integers(0, n - kept + 1)
    x[start : start + kept] *= -1
    return x


def edges(draw, n, kept):
    """Zeros of both signs and subnormals beside what is kept, and among it."""
    x = scattered(draw, n, kept)
    tiny = draw.random(n) < 0.2
    least = np.where(x > 0, 1e-45, draw.choice([-0.0, 0.0, -1e-45], n))
    return np.where(tiny, least, x)


GENERATORS = {"scattered": scattered, "clustered": clustered, "edges": edges}


def inputs(generator, seed, sizes):
    """Array x, shape (n,), with `kept` positive elements."""
    draw = np.random.default_rng(seed)
    return {"x": GENERATORS[generator](draw, sizes["n"], sizes["kept"])}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (kept,)."""
    x = arrays["x"].astype(np.float64)
    return {"y": x[x > 0]}


def flops(sizes):  # noqa: ARG001 - every count is given the sizes
    """None: elements only move."""
    return 0
