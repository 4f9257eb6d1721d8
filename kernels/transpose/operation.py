"""Transpose: y[c, r] = x[r, c], both contiguous by rows. NumPy only.

Nothing is computed, so nothing is rounded: the tolerance is 0, which float32 meets as
every value, subnormal or infinite, is represented exactly in the float64 of the oracle.
A NaN stays a NaN, whatever its bits; infinities keep their sign, and so do zeros.
"""

import numpy as np

FORMULA = "y[c, r] = x[r, c] for r < rows, c < cols"
REFERENCE = "the same elements on the CPU, in float64"
SIZES = ("rows", "cols")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}
NONFINITE = "propagate"
SIGNED_ZERO = "exact"
STRESS = ("edges", "special")

EDGES = (1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65)
PARTNERS = (1, 8, 32, 33)
LONG = (127, 257, 1021, 1025, 4099)
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    rows, cols = sizes["rows"], sizes["cols"]
    return {"x": (rows, cols), "y": (cols, rows)}


def cases(sizes):
    """(generator, seed, sizes): both axes around a tile, lines, primes, timed sizes."""
    small = {(a, b) for a in EDGES for b in PARTNERS}
    small |= {(a, b) for a in LONG for b in (1, 3)}
    small |= {(b, a) for a, b in small} | {(127, 131), (0, 5), (5, 0)}
    small = [{"rows": rows, "cols": cols} for rows, cols in sorted(small)]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """Uniform in [-1, 1): hardly two elements are equal."""
    return draw.uniform(-1, 1, (rows, cols))


def numbered(draw, rows, cols):
    """Neighbours differ by 1: an element that moved tells by how far."""
    start = draw.integers(1, 2**20)
    return (start + np.arange(rows * cols)).reshape(rows, cols)


def wide(draw, rows, cols):
    """Magnitudes over the whole range of normal float32, both signs."""
    exponent = draw.uniform(-126, 127, (rows, cols))
    return np.copysign(2.0**exponent, draw.uniform(-1, 1, (rows, cols)))


def edges(draw, rows, cols):
    """Subnormals, the smallest and the largest values, zeros of both signs."""
    info = np.finfo(np.float32)
    values = [0.0, info.smallest_subnormal, 1e-40, info.smallest_normal, info.max]
    signs = draw.choice([-1.0, 1.0], (rows, cols))
    return np.copysign(draw.choice(np.float64(values), (rows, cols)), signs)


def special(draw, rows, cols):
    """Ordinary, and one element in ten NaN or an infinity."""
    x = ordinary(draw, rows, cols)
    planted = draw.choice([np.nan, np.inf, -np.inf], (rows, cols))
    return np.where(draw.random((rows, cols)) < 0.1, planted, x)


GENERATORS = {
    "ordinary": ordinary,
    "numbered": numbered,
    "wide": wide,
    "edges": edges,
    "special": special,
}


def inputs(generator, seed, sizes):
    """Array x, shape (rows, cols), cast to the claim's dtype."""
    draw = np.random.default_rng(seed)
    return {"x": GENERATORS[generator](draw, sizes["rows"], sizes["cols"])}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (cols, rows)."""
    return {"y": np.ascontiguousarray(arrays["x"].T, dtype=np.float64)}


def magnitude(arrays, sizes):  # noqa: ARG001 - every magnitude is given both
    """0: the tolerance is not relative, and 0 times infinity would be NaN."""
    return {"y": np.zeros(shapes(sizes)["y"])}


def flops(sizes):  # noqa: ARG001 - every count is given the sizes
    """None: elements only move."""
    return 0
