"""Row maximum: y[r] = max over c of x[r, c], rows contiguous. NumPy only.

Fate of NaN and infinity: any NaN in a row, of either sign, gives NaN, even beside an
infinity; +inf gives +inf; a row of nothing but -inf, or of no columns, gives -inf. That
is `maximum` of IEEE Std 754-2019, section 9.6, but for zeros: -0 and +0 compare equal,
and either may come of a row that holds both.

Tolerance: none. Comparisons are exact (IEEE Std 754-2019, section 5.11) and a maximum
is one of the values compared, so nothing is ever rounded, not even a subnormal value.
"""

import numpy as np

FORMULA = "y[r] = max(x[r, c] for c < cols), NaN where a row holds one"
REFERENCE = "CPU float64 maximum of the represented inputs, which is exact"
SIZES = ("rows", "cols")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}
NONFINITE = "propagate"
STRESS = ("ended",)

SMALL_COLS = (1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1021, 1025, 4099)
SMALL_ROWS = 3
SEEDS = (7, 19)
SMALL_GENERATORS = ("ordinary", "ordered", "ended")
NEGATIVE_NAN = np.copysign(np.nan, -1.0)
# Of a row: whether all its values become -inf, and what is then planted.
PLANTED = (
    (False,),
    (False, np.nan),
    (False, NEGATIVE_NAN),
    (False, np.inf),
    (False, -np.inf),
    (False, np.nan, np.inf),
    (True,),
    (True, np.nan),
    (True, NEGATIVE_NAN),
    (True, np.finfo(np.float32).min),
)


def shapes(sizes):
    """Shape of each operand."""
    return {"x": (sizes["rows"], sizes["cols"]), "y": (sizes["rows"],)}


def cases(sizes):
    """(generator, seed, sizes): around every width of a tile, and the timed sizes.

    A maximum hides what is skipped elsewhere, so small rows have it at both ends too.
    """
    small = [{"rows": SMALL_ROWS, "cols": cols} for cols in SMALL_COLS]
    small += [{"rows": rows, "cols": 33} for rows in (1, 7, 8, 9)]
    small += [{"rows": 0, "cols": 8}, {"rows": SMALL_ROWS, "cols": 0}]
    chosen = [(g, SEEDS[0], s) for s in small if s != sizes for g in SMALL_GENERATORS]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """Normal about a centre of the row's own: many rows hold no positive value."""
    return draw.standard_normal((rows, cols)) + draw.uniform(-8, 4, (rows, 1))


def ordered(draw, rows, cols):
    """The largest is the last, the first, or every one, in turn."""
    x = np.sort(ordinary(draw, rows, cols), axis=1)
    x[1::3] = x[1::3, ::-1]
    x[2::3] = x[2::3, :1]
    return x


def deep(draw, rows, cols):
    """Near the lowest finite float32: below any finite start but that one."""
    return draw.uniform(-3.4e38, -3.3e38, (rows, cols))


def subnormal(draw, rows, cols):
    """Negative values below the smallest normal; in some rows zeros of both signs."""
    x = draw.uniform(-1e-38, -1e-42, (rows, cols)) - draw.uniform(0, 1e-39, (rows, 1))
    zero = (draw.random((rows, cols)) < 0.1) & (draw.random((rows, 1)) < 0.3)
    return np.where(zero, np.copysign(0.0, draw.uniform(-1, 1, (rows, cols))), x)


def special(draw, rows, cols):
    """Ordinary rows and rows of -inf, with NaN of both signs and infinities."""
    x = ordinary(draw, rows, cols)
    if not cols:
        return x
    for row in range(rows):
        emptied, *values = PLANTED[draw.integers(len(PLANTED))]
        if emptied:
            x[row] = -np.inf
        x[row, draw.permutation(cols)[: len(values)]] = values[:cols]
    return x


def ended(draw, rows, cols):
    """Ordinary rows, every second with a NaN in its last column."""
    x = ordinary(draw, rows, cols)
    x[::2, -1:] = np.nan
    return x


GENERATORS = {
    "ordinary": ordinary,
    "ordered": ordered,
    "deep": deep,
    "subnormal": subnormal,
    "special": special,
    "ended": ended,
}


def inputs(generator, seed, sizes):
    """Array x, shape (rows, cols), cast to the claim's dtype."""
    draw = np.random.default_rng(seed)
    return {"x": GENERATORS[generator](draw, sizes["rows"], sizes["cols"])}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (rows,)."""
    x = arrays["x"].astype(np.float64)
    return {"y": x.max(axis=1, initial=-np.inf)}


def magnitude(arrays, sizes):  # noqa: ARG001 - every magnitude is given both
    """Nothing: no error is allowed, however large the maximum."""
    return {"y": np.zeros(arrays["x"].shape[0])}


def flops(sizes):
    """A comparison a value."""
    return sizes["rows"] * sizes["cols"]
