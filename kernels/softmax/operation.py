"""Masked softmax: y[r, c] = exp(x[r, c] - m) / sum of the same over the open columns.

m is the largest open value of the row; mask is 1 where a column is open and 0 where it
is masked. NumPy only. A masked place weighs zero whatever x holds there, NaN too. A row
that is masked throughout gives zeros, and so does one whose open places all hold -inf;
elsewhere -inf weighs zero. NaN or +inf in an open place makes the whole row NaN, its
masked places included.

Tolerance: with d = m - x[r, c], u = 2**-24 and D the mean of d over the row, weighted
by y, the rounding of x - m moves y by at most (d + D) u y to first order (Blanchard,
Higham and Higham, Accurately computing the log-sum-exp and softmax functions, IMA J.
Numer. Anal. 41, 2021). Two exponentials within 2 u or so, a sum of positive terms in
short chains and a division add a few u y more, for which 8 u y stands; the whole is
doubled. What lies below the smallest normal float32 may be flushed to zero.

In float16 and bfloat16 x and y are narrow, and all between them is float32. y is
rounded once, by at most v ufp(y), v the unit roundoff of its dtype and ufp(y) the
largest power of two in y (Rump, Ogita and Oishi, Accurate floating-point summation I,
SIAM J. Sci. Comput. 31, 2008), or in float16 by 2**-25 where y is subnormal. 2.5 v
ufp(y) has twice the room; the above is less than v / 100 where y is not zero. What is
zero in the dtype is zero in the oracle, so that rows of float16 do not consist of
weights that cannot be told from nothing.
"""

import numpy as np

FORMULA = "y[r, c] = exp(x[r, c] - m) * mask[r, c] / sum(...), m the largest open x[r]"
REFERENCE = "CPU float64 softmax of the represented inputs over the open columns"
SIZES = ("rows", "cols")
DTYPES = ("float32", "float16", "bfloat16")
OPERANDS = {"x": "input", "mask": "input", "y": "output"}
OPERAND_DTYPES = {"mask": "int32"}
SCALARS = {}
TOLERANCE = {
    "float32": {"atol": 2.0**-126, "rtol": 2 * 2.0**-24},
    "float16": {"atol": 2.0**-24, "rtol": 2.5 * 2.0**-11},
    "bfloat16": {"atol": 2.0**-126, "rtol": 2.5 * 2.0**-8},
}
SMALLEST = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
NONFINITE = "propagate"
STRESS = ("spiked", "single", "wide", "special", "ended")

SMALL_COLS = (1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 1279, 1281, 4099)
SMALL_ROWS = 3
SMALL_GENERATORS = ("ordinary", "spiked", "single", "ended")
SEEDS = (7, 19)
OPEN_SHARE = 0.8


def shapes(sizes):
    """Shape of each operand."""
    shape = (sizes["rows"], sizes["cols"])
    return dict.fromkeys(OPERANDS, shape)


def cases(sizes):
    """(generator, seed, sizes): around every width of a tile, and the timed sizes.

    A softmax hides a maximum that missed a column, so small rows have spikes too.
    """
    small = [{"rows": SMALL_ROWS, "cols": cols} for cols in SMALL_COLS]
    small += [{"rows": 0, "cols": 8}, {"rows": SMALL_ROWS, "cols": 0}]
    chosen = [(g, SEEDS[0], s) for s in small if s != sizes for g in SMALL_GENERATORS]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """Normal values, most of them open: weights of thousands are normal in float16."""
    x = draw.standard_normal((rows, cols))
    return x, draw.random((rows, cols)) < OPEN_SHARE


def shifted(draw, rows, cols):
    """Ordinary, but each row lies below -5e4 or where exp overflows, in turn.

    Float16 can hold both, though ordinary values there differ by its steps alone.
    """
    x, is_open = ordinary(draw, rows, cols)
    distance = draw.uniform(5.2e4, 6.5e4, rows)
    shift = np.where(np.arange(rows) % 2 == 0, -distance, 0.01 * distance)
    return x + shift[:, None], is_open


def tails(draw, rows, cols):
    """Uniform over all distances whose weight is a normal float32, or over the near."""
    farthest = np.where(np.arange(rows) % 2, 3, 85)[:, None]
    x = -farthest * draw.random((rows, cols))
    return x, draw.random((rows, cols)) < OPEN_SHARE


def closed(draw, rows, cols):
    """Ordinary, with half of the rows masked throughout."""
    x, is_open = ordinary(draw, rows, cols)
    return x, is_open & (draw.random((rows, 1)) < 0.5)


def spiked(draw, rows, cols):
    """One open value far above the others: the last, the first, any, in turn."""
    x, is_open = ordinary(draw, rows, cols)
    at = _one_a_row(draw, rows, cols)
    return np.where(at, 100 + x, x), is_open | at


def single(draw, rows, cols):
    """One open column a row: the last, the first, or any one, in turn."""
    x, _ = shifted(draw, rows, cols)
    return x, _one_a_row(draw, rows, cols)


def wide(draw, rows, cols):
    """Most weights zero or not normal; in every other row differences may overflow.

    They do in float32, or in every fourth row in float16.
    """
    x, is_open = ordinary(draw, rows, cols)
    row = np.arange(rows)[:, None]
    farthest = np.where(row % 4 == 1, 3.3e38, 6.5e4)
    far = farthest * draw.uniform(-1, 1, (rows, cols))
    return np.where(row % 2 == 0, 100 * x, far), is_open


def special(draw, rows, cols):
    """Ordinary rows with NaN and infinities, in open places or masked ones."""
    x, is_open = ordinary(draw, rows, cols)
    for row in range(rows if cols else 0):
        value, where = PLANTED[draw.integers(len(PLANTED))]
        at = draw.integers(cols)
        if where == "alone":
            x[row] = -np.inf
        if where == "all masked":
            is_open[row] = False
        elif where is not None:
            is_open[row, at] = where != "masked"
        if where is not None:
            x[row, at] = value
    return x, is_open


def ended(draw, rows, cols):
    """Ordinary rows, every second with a NaN in its last column, which is open."""
    x, is_open = ordinary(draw, rows, cols)
    x[::2, -1:], is_open[::2, -1:] = np.nan, True
    return x, is_open


def _one_a_row(draw, rows, cols):
    """True at the last, the first or any one column, in turn."""
    row = np.arange(rows)
    anywhere = draw.integers(0, max(cols, 1), rows)
    places = np.choose(row % 3, (np.full(rows, cols - 1), np.zeros_like(row), anywhere))
    return np.arange(cols) == places[:, None]


GENERATORS = {
    "ordinary": ordinary,
    "shifted": shifted,
    "tails": tails,
    "closed": closed,
    "spiked": spiked,
    "single": single,
    "wide": wide,
    "special": special,
    "ended": ended,
}
# What `special` plants in a row, and where; alone: among open -inf only.
PLANTED = (
    (0.0, None),
    *((value, "open") for value in (np.nan, np.inf, -np.inf)),
    *((value, "masked") for value in (np.nan, np.inf, -np.inf)),
    *((value, "alone") for value in (np.nan, np.inf, -np.inf, 1.0)),
    *((value, "all masked") for value in (np.nan, np.inf)),
)


def inputs(generator, seed, sizes):
    """Arrays x and mask, shape (rows, cols); mask is 1 where a column is open."""
    draw = np.random.default_rng(seed)
    x, is_open = GENERATORS[generator](draw, sizes["rows"], sizes["cols"])
    return {"x": x, "mask": is_open}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (rows, cols)."""
    weights = np.exp(-_below(arrays))
    total = weights.sum(axis=1, keepdims=True)
    y = weights / np.where(total == 0, 1.0, total)
    is_zero = y <= SMALLEST[arrays["x"].dtype.name] / 2
    return {"y": np.where(is_zero, 0.0, y)}


def magnitude(arrays, sizes):
    """(8 + d + D) y, d as above and D its mean over the row, weighted by y.

    Of a narrow output ufp(y).
    """
    y = oracle(arrays, sizes)["y"]
    if arrays["x"].dtype != np.float32:
        return {"y": leading(y)}
    d = np.where(y > 0, _below(arrays), 0.0)
    mean = (y * d).sum(axis=1, keepdims=True)
    return {"y": (8 + d + mean) * y}


def leading(values):
    """ufp: the largest power of two in each absolute value, 0 in 0."""
    return np.where(values == 0, 0.0, np.ldexp(0.5, np.frexp(values)[1]))


def _below(arrays):
    """How far each open value is below the largest of its row; infinity if masked."""
    x = np.where(arrays["mask"] == 1, arrays["x"].astype(np.float64), -np.inf)
    largest = x.max(axis=1, initial=-np.inf, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(largest == -np.inf, np.inf, largest - x)


def flops(sizes):
    """A comparison, a difference, an exponential, a sum and a product an element."""
    return 5 * sizes["rows"] * sizes["cols"]
