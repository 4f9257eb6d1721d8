"""Transpose of views: y[c, r] = x[r, c], any starts, pitches and a step. NumPy only.

x lies in a larger array: its first element is `x_start` behind the array's, its rows
are `x_pitch` apart and its columns `x_step`, as in base[:, ::2]. y lies in one from
`y_start` on with rows `y_pitch` apart, as in big[3:1003, 5:1008]; all in elements.
Sizes whose elements would overlap are refused. What lies beside a view must stay.

Nothing is computed, so nothing is rounded: the tolerance is 0, which float32 meets as
every value, subnormal or infinite, is represented exactly in the float64 of the oracle.
A NaN stays a NaN, whatever its bits; infinities keep their sign, and so do zeros.
"""

import numpy as np

FORMULA = "y[c, r] = x[r, c] for r < rows, c < cols, in views of larger arrays"
REFERENCE = "the same elements on the CPU, in float64"
SIZES = ("rows", "cols", "x_start", "x_pitch", "x_step", "y_start", "y_pitch")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}
NONFINITE = "propagate"
SIGNED_ZERO = "exact"
STRESS = ("edges", "special")

SHAPES = (
    *((size, 33) for size in (0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65)),
    *((33, size) for size in (0, 1, 2, 7, 31, 32, 63, 64, 65)),
    *((1, 1), (3, 257), (1021, 5), (2, 1025), (127, 131)),
)
# (x_start, elements behind a row of x, x_step, y_start, elements behind a row of y):
# compact, every second column, misaligned starts, all of them.
VIEWS = ((0, 0, 1, 0, 0), (0, 1, 2, 0, 0), (1, 3, 1, 3, 5), (5, 2, 3, 7, 1))
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    rows, cols = sizes["rows"], sizes["cols"]
    return {"x": (rows, cols), "y": (cols, rows)}


def views(sizes):
    """Start and strides of each operand, in elements."""
    return {
        "x": (sizes["x_start"], (sizes["x_pitch"], sizes["x_step"])),
        "y": (sizes["y_start"], (sizes["y_pitch"], 1)),
    }


def viewed(rows, cols, view):
    """Sizes of a shape in one of VIEWS."""
    x_start, x_gap, x_step, y_start, y_gap = view
    return {
        "rows": rows,
        "cols": cols,
        "x_start": x_start,
        "x_pitch": max(1, (cols - 1) * x_step + 1) + x_gap,
        "x_step": x_step,
        "y_start": y_start,
        "y_pitch": max(1, rows) + y_gap,
    }


def cases(sizes):
    """(generator, seed, sizes): around a tile in each view, and the timed sizes."""
    small = [viewed(rows, cols, view) for view in VIEWS for rows, cols in SHAPES]
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
