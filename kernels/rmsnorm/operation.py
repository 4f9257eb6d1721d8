"""RMS norm: y = x / sqrt(mean(x**2) + eps) * weight in each row. NumPy only.

Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019. The weight and
eps are finite. |x| is at most 1e17 and a row has at most 2**15 columns: a sum of
squares stays below the largest float32, as with 1e18 it would not past 340 columns. A
NaN in a row makes all of that row NaN. An infinity makes its mean of squares infinite:
NaN where x is infinite (infinity over infinity) and zero elsewhere.

Tolerance: n squares have one sign, so their sum in any order is relatively as good as
its depth times u = 2**-24 (Higham, Accuracy and Stability of Numerical Algorithms,
2002, section 4.2), and its root has half of that. A thread adds a few dozen, a tree a
few more, and about six roundings of at most u each follow: 16 u |y| has room for both.
Squares that underflow are far below eps. A product below the smallest normal number is
off by a few units of 2**-149, however small it is.

In float16 and bfloat16 x, weight and y are narrow, and all between them is float32, the
sum with eps too: a mean of squares is infinite or nothing in float16 where x is above
256 or below 1e-4. y is rounded once, by at most v ufp(y), v the unit roundoff of its
dtype and ufp(y) the largest power of two in |y| (Rump, Ogita and Oishi, Accurate
floating-point summation I, SIAM J. Sci. Comput. 31, 2008). 2.5 v ufp(y) has twice the
room for that; what is rounded once more before the weight has none.
"""

import numpy as np

FORMULA = (
    "y[r, c] = x[r, c] / sqrtf(mean(x[r, :]**2) + eps) * weight[c], "
    "accumulated in float32"
)
REFERENCE = "CPU float64 RMS norm of the represented inputs and eps"
SIZES = ("rows", "cols")
DTYPES = ("float32", "float16", "bfloat16")
OPERANDS = {"x": "input", "weight": "input", "y": "output"}
SCALARS = {"eps": 1e-5}
TOLERANCE = {
    "float32": {"atol": 2.0**-145, "rtol": 16 * 2.0**-24},
    "float16": {"atol": 2.0**-24, "rtol": 2.5 * 2.0**-11},
    "bfloat16": {"atol": 2.0**-133, "rtol": 2.5 * 2.0**-8},
}
NONFINITE = "propagate"
STRESS = ("special",)

SMALL_COLS = (1, 2, 31, 32, 33, 255, 256, 257, 1024, 1025, 2053)
SMALL_ROWS = 3
LONG = {"rows": 3, "cols": 16411}
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    rows, cols = sizes["rows"], sizes["cols"]
    return {"x": (rows, cols), "weight": (cols,), "y": (rows, cols)}


def cases(sizes):
    """(generator, seed, sizes): around every width of a tile, and the timed sizes."""
    small = [{"rows": SMALL_ROWS, "cols": cols} for cols in SMALL_COLS]
    small += [{"rows": rows, "cols": 100} for rows in (0, 1, 4, 5)]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    chosen += [("repeated", SEEDS[0], LONG)]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """A spread of 1 about a mean that each row has of its own, up to 2."""
    return draw.uniform(-2, 2, (rows, 1)) + draw.standard_normal((rows, cols))


def scales(draw, rows, cols):
    """A size for each row, from 1e-6, where eps is nearly all of the root, to 1e6."""
    size = 10.0 ** draw.uniform(-6, 6, (rows, 1))
    return size * draw.standard_normal((rows, cols))


def large(draw, rows, cols):
    """A size for each row: squares that half precision could not hold.

    Up to 1e17, or in every other row up to what float16 can hold itself.
    """
    most = np.where(np.arange(rows) % 2, 4.8, 17)[:, np.newaxis]
    size = 10.0 ** draw.uniform(3, most)
    return size * draw.uniform(-1, 1, (rows, cols))


def equal(draw, rows, cols):
    """Rows of one value and random signs: all roundings of the sum agree."""
    value = draw.choice([0.1, 1.1, 3.0, 3.1, 7.0], (rows, 1))
    return value * draw.choice([-1.0, 1.0], (rows, cols))


def repeated(draw, rows, cols):
    """The same, but exact in float32: only a sum in half precision runs ahead of it."""
    value = draw.choice([1.0625, 1.1875, 1.6875, 1.9375], (rows, 1))
    return value * draw.choice([-1.0, 1.0], (rows, cols))


def spike(draw, rows, cols):
    """Ordinary rows with one value far above the others, the last one in some."""
    x = ordinary(draw, rows, cols)
    place = np.where(draw.random(rows) < 0.5, cols - 1, draw.integers(0, cols, rows))
    x[np.arange(rows), place] = draw.uniform(500, 2000, rows)
    return x


def sparse(draw, rows, cols):
    """Mostly zeros, of both signs; every fourth row has nothing else."""
    x = ordinary(draw, rows, cols) * (draw.random((rows, cols)) < 0.1)
    x[::4] = 0.0
    return np.where(draw.random((rows, cols)) < 0.1, -x, x)


def tiny(draw, rows, cols):
    """Values whose squares are subnormal or zero in float32.

    In every other row they are in float16, and there the values too are subnormal.
    """
    middle = np.where(np.arange(rows) % 2, -5.5, -24.5)[:, np.newaxis]
    size = 10.0 ** (middle + draw.uniform(-1.5, 1.5, (rows, 1)))
    return size * draw.standard_normal((rows, cols))


def subnormal(draw, rows, cols):
    """Values below the smallest normal number, of both signs, and negative zeros.

    That of float32, or in every other row that of float16.
    """
    largest = np.where(np.arange(rows) % 2, 6e-5, 1e-39)[:, np.newaxis]
    x = largest * draw.uniform(-1, 1, (rows, cols))
    return np.where(draw.random((rows, cols)) < 0.1, -0.0, x)


def special(draw, rows, cols):
    """Ordinary rows, some with a NaN, an infinity or both of them somewhere."""
    x = ordinary(draw, rows, cols)
    planted = draw.integers(0, 5, rows)
    for row, kind in enumerate(planted):
        first, second = draw.integers(0, cols, 2)
        x[row, first] = (x[row, first], np.nan, np.inf, -np.inf, np.inf)[kind]
        if kind == 4:
            x[row, second] = np.nan
    return x


GENERATORS = {
    "ordinary": ordinary,
    "scales": scales,
    "large": large,
    "equal": equal,
    "repeated": repeated,
    "spike": spike,
    "sparse": sparse,
    "tiny": tiny,
    "subnormal": subnormal,
    "special": special,
}


def inputs(generator, seed, sizes):
    """Arrays x, shape (rows, cols), and weight, shape (cols,)."""
    draw = np.random.default_rng(seed)
    weight = draw.uniform(-2, 2, sizes["cols"])
    x = GENERATORS[generator](draw, sizes["rows"], sizes["cols"])
    return {"x": x, "weight": weight}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (rows, cols)."""
    x = arrays["x"].astype(np.float64)
    eps = float(np.float32(SCALARS["eps"]))
    root = np.sqrt(np.square(x).mean(axis=1, keepdims=True) + eps)
    with np.errstate(invalid="ignore"):
        return {"y": x / root * arrays["weight"].astype(np.float64)}


def magnitude(arrays, sizes):
    """|y|, or of a narrow output ufp(y)."""
    y = oracle(arrays, sizes)["y"]
    return {"y": np.abs(y) if arrays["x"].dtype == np.float32 else leading(y)}


def leading(values):
    """ufp: the largest power of two in each absolute value, 0 in 0."""
    return np.where(values == 0, 0.0, np.ldexp(0.5, np.frexp(values)[1]))


def flops(sizes):
    """Two for the mean of squares, two for the output."""
    return 4 * sizes["rows"] * sizes["cols"]
