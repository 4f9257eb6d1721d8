"""Row sum: y[r] = sum over c of x[r, c], rows contiguous. NumPy only.

A NaN in a row makes its sum NaN, as do infinities of both signs; one infinity stays.
Tolerance: a sum of n terms in any order errs by at most (n - 1) u sum|x| to first
order, u = 2**-24 (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
section 4.2), and by about sqrt(depth) u sum|x| where rounding errors are independent
(Higham and Mary, SIAM J. Sci. Comput. 41, 2019). A block adds a few dozen terms a
thread and then a tree: 16 u sum|x| has room for it, and none for a sum in half
precision. A sum that is subnormal is exact (Hauser, Handling floating-point exceptions
in numeric programs, ACM TOPLAS 18, 1996), so float32 needs no absolute part. An output
in float16 or bfloat16 is rounded once more, by at most v ufp(r), v its own unit
roundoff and ufp(r) the largest power of two in |r| (Rump, Ogita and Oishi, Accurate
floating-point summation I, SIAM J. Sci. Comput. 31, 2008). 2.5 v of ufp(r), and of what
makes 20 u sum|x|, have twice the room for both.

Float16 and bfloat16 are accumulated in float32 too. Errors of a sum in half average out
over random terms, so rows that repeat one value are among the cases: each addition then
errs to the same side, and ones stand still at 2048, or in bfloat16 at 256.
"""

import numpy as np

FORMULA = "y[r] = sum(x[r, c] for c < cols), accumulated in float32"
REFERENCE = (
    "CPU float64 sum of the represented inputs, rounded to infinity past the dtype"
)
SIZES = ("rows", "cols")
DTYPES = ("float32", "float16", "bfloat16")
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {
    "float32": {"atol": 0.0, "rtol": 16 * 2.0**-24},
    "float16": {"atol": 2.0**-24, "rtol": 2.5 * 2.0**-11},
    "bfloat16": {"atol": 2.0**-133, "rtol": 2.5 * 2.0**-8},
}
# Unit roundoff of each dtype, and the first power of two that is infinite in it.
FORMATS = {
    "float32": (2.0**-24, 2.0**128),
    "float16": (2.0**-11, 2.0**16),
    "bfloat16": (2.0**-8, 2.0**128),
}
NONFINITE = "propagate"
STRESS = ("cancelling", "subnormal", "special")

SMALL_COLS = (1, 2, 31, 32, 33, 127, 255, 256, 257, 1021, 1024, 1025, 4099)
SMALL_ROWS = 3
LONG = ({"rows": 5, "cols": 4096}, {"rows": 5, "cols": 16411})
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    return {"x": (sizes["rows"], sizes["cols"]), "y": (sizes["rows"],)}


def cases(sizes):
    """(generator, seed, sizes): around every width of a tile, and the timed sizes."""
    small = [{"rows": SMALL_ROWS, "cols": cols} for cols in SMALL_COLS]
    small += [{"rows": 0, "cols": 8}, {"rows": 1, "cols": sizes["cols"]}]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    chosen += [("repeated", SEEDS[0], s) for s in LONG]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """Uniform in [-0.5, 1.5): sums that grow with the width."""
    return draw.uniform(-0.5, 1.5, (rows, cols))


def cancelling(draw, rows, cols):
    """Pairs of opposite values near 1000, shuffled, and one term that stays."""
    x = draw.uniform(900, 1100, (rows, cols))
    half = cols // 2
    x[:, half : 2 * half] = -x[:, :half]
    return draw.permuted(x, axis=1)


def offset(draw, rows, cols):
    """A mean far above the spread, in each row another."""
    return draw.uniform(8, 40, (rows, 1)) + draw.standard_normal((rows, cols))


def repeated(draw, rows, cols):
    """Each row one value: 1, or a little more that half precision rounds off a sum.

    A power of two of its own tells each row from the next, and rounds nothing.
    """
    extra = np.append(0, draw.integers(0, 128, rows)) / 1024
    value = (1 + extra[:rows]) * 2.0 ** draw.integers(-4, 2, rows)
    return np.repeat(value[:, np.newaxis], cols, axis=1)


def subnormal(draw, rows, cols):
    """Values below the smallest normal number, of both signs, and negative zeros.

    That of float32, or in every other row that of float16.
    """
    largest = np.where(np.arange(rows) % 2, 6e-5, 1e-39)[:, np.newaxis]
    x = largest * draw.uniform(-1, 1, (rows, cols))
    return np.where(draw.random((rows, cols)) < 0.1, -0.0, x)


def special(draw, rows, cols):
    """Ordinary rows, most with NaN, infinities or a sum past a dtype somewhere."""
    x = ordinary(draw, rows, cols)
    for row, kind in enumerate(draw.integers(0, len(PLANTED), rows)):
        for value in PLANTED[kind]:
            x[row, draw.integers(cols)] = value
    return x


GENERATORS = {
    "ordinary": ordinary,
    "offset": offset,
    "repeated": repeated,
    "cancelling": cancelling,
    "subnormal": subnormal,
    "special": special,
}
# What `special` plants in a row. The sums of the last three are past the largest
# float16, bfloat16 (but not float32) and float32.
PLANTED = (
    (),
    (np.nan,),
    (np.inf,),
    (-np.inf,),
    (np.inf, -np.inf),
    (4e4, 4e4),
    (3.3895e38, 1e36),
    (2e38, 2e38),
)


def inputs(generator, seed, sizes):
    """Array x, shape (rows, cols), cast to the claim's dtype."""
    draw = np.random.default_rng(seed)
    return {"x": GENERATORS[generator](draw, sizes["rows"], sizes["cols"])}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (rows,)."""
    x = arrays["x"]
    with np.errstate(invalid="ignore"):
        total = x.astype(np.float64).sum(axis=1)
    roundoff, limit = FORMATS[x.dtype.name]
    infinite = np.abs(total) >= (1 - roundoff / 2) * limit
    return {"y": np.where(infinite, np.copysign(np.inf, total), total)}


def magnitude(arrays, sizes):
    """sum|x|, or of a narrow output ufp(r) and a share of that."""
    x = arrays["x"]
    absolute = np.abs(x.astype(np.float64)).sum(axis=1)
    if x.dtype == np.float32:
        return {"y": absolute}
    roundoff, _ = FORMATS[x.dtype.name]
    share = 8 * 2.0**-24 / roundoff
    return {"y": leading(oracle(arrays, sizes)["y"]) + share * absolute}


def leading(values):
    """ufp: the largest power of two in each absolute value, 0 in 0."""
    return np.where(values == 0, 0.0, np.ldexp(0.5, np.frexp(values)[1]))


def flops(sizes):
    """An addition a term."""
    return sizes["rows"] * sizes["cols"]
