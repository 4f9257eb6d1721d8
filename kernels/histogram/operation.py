"""Histogram: count[b] = number of i with x[i] == b, 0 <= x[i] < bins. NumPy only.

All arithmetic is of integers and exact whatever its order, so the tolerance is 0. Both
operands have dtypes of their own, x int32 and count uint32; a claim must name a dtype
all the same, and float32 stands there for none. An index is never NaN or infinite, so
the contract need not say what becomes of those.

The output is not zeroed for the kernel: a bin without an element must be written too,
also where x is empty. The arms hold their counts in 1024 words, so bins <= 1024.
"""

import numpy as np

FORMULA = "count[b] = sum(1 for i < n if x[i] == b) for b < bins"
REFERENCE = "CPU count in 64-bit integers"
SIZES = ("n", "bins")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "count": "output"}
OPERAND_DTYPES = {"x": "int32", "count": "uint32"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}

SMALL_N = (0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025)
LARGE_N = (2049, 2053, 4095, 4096, 4097, 4099, 8191, 8192, 8193)
SMALL_BINS = (1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024)
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    return {"x": (sizes["n"],), "count": (sizes["bins"],)}


def cases(sizes):
    """(generator, seed, sizes): around every block and tail, and the timed sizes."""
    small = [{"n": n, "bins": 33} for n in (*SMALL_N, *LARGE_N)]
    small += [{"n": n, "bins": bins} for bins in SMALL_BINS for n in (257, 4099)]
    small += [{"n": 0, "bins": 1024}]
    chosen = [("uniform", SEEDS[0], s) for s in small if s != sizes]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def uniform(draw, n, bins):
    """Every bin as likely as any other."""
    return draw.integers(0, bins, n)


def one_bin(draw, n, bins):
    """All in one bin: every update goes to one address."""
    return np.full(n, draw.integers(0, bins))


def ordered(draw, n, bins):
    """Uniform and sorted: neighbours meet in one bin."""
    return np.sort(uniform(draw, n, bins))


def alternating(draw, n, bins):
    """Two bins that take turns: half of a warp at each of two addresses."""
    return np.where(np.arange(n) % 2, draw.integers(0, bins), draw.integers(0, bins))


def ends(draw, n, bins):
    """Only the first bin and the last, so that all between must be 0."""
    return np.where(draw.random(n) < 0.3, 0, bins - 1)


GENERATORS = {
    "uniform": uniform,
    "one_bin": one_bin,
    "ordered": ordered,
    "alternating": alternating,
    "ends": ends,
}


def inputs(generator, seed, sizes):
    """Array x, shape (n,), of indices of bins."""
    draw = np.random.default_rng(seed)
    return {"x": GENERATORS[generator](draw, sizes["n"], sizes["bins"])}


def oracle(arrays, sizes):
    """Array count, float64, shape (bins,)."""
    return {"count": np.bincount(arrays["x"], minlength=sizes["bins"]).astype(float)}


def flops(sizes):  # noqa: ARG001 - every count is given the sizes
    """None: additions of integers are no floating-point operations."""
    return 0
