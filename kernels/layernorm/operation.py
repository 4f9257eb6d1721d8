"""Layer norm: y = (x - mean) / sqrt(var + eps) * weight + bias in each row. NumPy only.

The variance is the biased one (Ba, Kiros and Hinton, Layer Normalization,
arXiv:1607.06450, 2016). A NaN or an infinity in a row of x makes all of that row NaN.
Weight, bias and eps are finite, |x| is at most 1e16 and a row has at most 2**15
columns: a sum of squared differences stays below the largest float32.

Tolerance: with s = sqrt(var + eps), the mean errs by c u sum|x| / n, u = 2**-24 and c
from the depth of the summation (Higham, Accuracy and Stability of Numerical Algorithms,
2002, section 4.2). The output takes that over as |weight| / s times as much. The sum of
squares of the differences is relatively as good (two passes: Chan, Golub and LeVeque,
The American Statistician 37, 1983, pages 242-247: a mean off by d adds d**2 to the
variance, of second order here) and the rest is a few roundings of the two terms. So the
error is relative to |weight| (sum|x| / n + |x - mean|) / s + |bias|. A thread adds
a few dozen terms and a tree a few more, and where all terms are equal their roundings
agree in sign: c = 16. E[x**2] - E[x]**2 errs by u mean**2 / var instead.

In float16 and bfloat16 x, weight, bias and y are narrow, and all between them is
float32, the sum of variance and eps too: in float16 a variance is infinite where the
spread is above 256, and eps is nothing beside it from 1/32 on. y is rounded once, by at
most v ufp(y), v the unit roundoff of its dtype and ufp(y) the largest power of two in
|y| (Rump, Ogita and Oishi, Accurate floating-point summation I, SIAM J. Sci. Comput.
31, 2008). 2.5 v of ufp(y), and of what makes 20 u of the above, have twice the room.
"""

import numpy as np

FORMULA = (
    "y[r, c] = (x[r, c] - mean[r]) / sqrtf(var[r] + eps) * weight[c] + bias[c], "
    "var biased, accumulated in float32"
)
REFERENCE = "CPU float64 two-pass layer norm of the represented inputs and eps"
SIZES = ("rows", "cols")
DTYPES = ("float32", "float16", "bfloat16")
OPERANDS = {"x": "input", "weight": "input", "bias": "input", "y": "output"}
SCALARS = {"eps": 1e-5}
TOLERANCE = {
    "float32": {"atol": 2.0**-139, "rtol": 16 * 2.0**-24},
    "float16": {"atol": 2.0**-24, "rtol": 2.5 * 2.0**-11},
    "bfloat16": {"atol": 2.0**-133, "rtol": 2.5 * 2.0**-8},
}
# What 2.5 units roundoff of a narrow dtype are multiplied by to be 20 of float32.
SHARE = {"float16": 8 * 2.0**-13, "bfloat16": 8 * 2.0**-16}
NONFINITE = "propagate"
STRESS = ("high", "ramp", "constant", "subnormal", "special")

SMALL_COLS = (1, 2, 31, 32, 33, 127, 255, 256, 257, 1021, 1024, 1025, 2053)
SMALL_ROWS = 3
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    rows, cols = sizes["rows"], sizes["cols"]
    return {"x": (rows, cols), "weight": (cols,), "bias": (cols,), "y": (rows, cols)}


def cases(sizes):
    """(generator, seed, sizes): around every width of a tile, and the timed sizes."""
    small = [{"rows": SMALL_ROWS, "cols": cols} for cols in SMALL_COLS]
    small += [{"rows": rows, "cols": 100} for rows in (0, 1, 4, 5)]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, rows, cols):
    """A spread of 1 about a mean that each row has of its own, up to 2."""
    return draw.uniform(-2, 2, (rows, 1)) + draw.standard_normal((rows, cols))


def scales(draw, rows, cols):
    """Spreads from 1e-4, where eps is nearly all of the root, to 1e12.

    In every other row to 1e4, which float16 can hold, though not its square.
    """
    most = np.where(np.arange(rows) % 2, 4, 12)[:, np.newaxis]
    spread = 10.0 ** draw.uniform(-4, most)
    return spread * draw.standard_normal((rows, cols))


def cancelling(draw, rows, cols):
    """Pairs of opposite values near 1000, shuffled, and one term that stays."""
    x = draw.uniform(900, 1100, (rows, cols))
    half = cols // 2
    x[:, half : 2 * half] = -x[:, :half]
    return draw.permuted(x, axis=1)


def spike(draw, rows, cols):
    """Ordinary rows with one value far above the others, the last one in some."""
    x = ordinary(draw, rows, cols)
    place = np.where(draw.random(rows) < 0.5, cols - 1, draw.integers(0, cols, rows))
    x[np.arange(rows), place] = draw.uniform(500, 2000, rows)
    return x


def high(draw, rows, cols):
    """A spread of 1 about a mean of 1e4, or in every other row of 50.

    There a narrow dtype holds more than one value.
    """
    mean = np.where(np.arange(rows) % 2, 50, 1e4)[:, np.newaxis]
    return mean + draw.standard_normal((rows, cols))


def ramp(draw, rows, cols):
    """Equal steps of 1e-3 up from between 1000 and 1e4.

    In every other row of 1/8 from below 100, which differ in a narrow dtype too.
    """
    is_narrow = np.arange(rows)[:, np.newaxis] % 2 == 1
    first = draw.uniform(1e3, 1e4, (rows, 1)) * np.where(is_narrow, 0.01, 1)
    return first + np.where(is_narrow, 0.125, 1e-3) * np.arange(cols)


def constant(draw, rows, cols):
    """Rows of one value: 0, 3, 3.1 and 7, of either sign."""
    value = draw.choice([0.0, 3.0, 3.1, 7.0, -3.1], (rows, 1))
    return np.broadcast_to(value, (rows, cols))


def subnormal(draw, rows, cols):
    """Values below the smallest normal number, of both signs, and negative zeros.

    That of float32, or in every other row that of float16.
    """
    largest = np.where(np.arange(rows) % 2, 6e-5, 1e-39)[:, np.newaxis]
    x = largest * draw.uniform(-1, 1, (rows, cols))
    return np.where(draw.random((rows, cols)) < 0.1, -0.0, x)


def special(draw, rows, cols):
    """Ordinary rows, some with one NaN, one infinity or two opposite ones somewhere."""
    x = ordinary(draw, rows, cols)
    planted = draw.integers(0, 5, rows)
    for row, kind in enumerate(planted):
        first, second = draw.integers(0, cols, 2)
        x[row, first] = (x[row, first], np.nan, np.inf, -np.inf, np.inf)[kind]
        if kind == 4:
            x[row, second] = -np.inf
    return x


GENERATORS = {
    "ordinary": ordinary,
    "scales": scales,
    "cancelling": cancelling,
    "spike": spike,
    "high": high,
    "ramp": ramp,
    "constant": constant,
    "subnormal": subnormal,
    "special": special,
}


def inputs(generator, seed, sizes):
    """Arrays x, weight and bias; no bias that would hide subnormal values."""
    draw = np.random.default_rng(seed)
    cols = sizes["cols"]
    weight, bias = draw.uniform(-2, 2, cols), draw.uniform(-1, 1, cols)
    if generator == "subnormal":
        bias = np.zeros(cols)
    x = GENERATORS[generator](draw, sizes["rows"], cols)
    return {"x": x, "weight": weight, "bias": bias}


def differences(x):
    """Of each row x - mean and sqrt(var + eps), float64; all NaN after a NaN."""
    with np.errstate(invalid="ignore"):
        difference = x - x.mean(axis=1, keepdims=True)
        variance = np.square(difference).mean(axis=1, keepdims=True)
    return difference, np.sqrt(variance + float(np.float32(SCALARS["eps"])))


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (rows, cols)."""
    difference, root = differences(arrays["x"].astype(np.float64))
    weight, bias = (arrays[name].astype(np.float64) for name in ("weight", "bias"))
    return {"y": difference / root * weight + bias}


def magnitude(arrays, sizes):
    """|weight| (sum|x| / cols + |x - mean|) / sqrt(var + eps) + |bias|.

    Of a narrow output ufp(y) and a share of that.
    """
    x = arrays["x"].astype(np.float64)
    difference, root = differences(x)
    weight, bias = (np.abs(arrays[n].astype(np.float64)) for n in ("weight", "bias"))
    terms = np.abs(x).mean(axis=1, keepdims=True) + np.abs(difference)
    with np.errstate(invalid="ignore"):
        inside = weight * terms / root + bias
    share = SHARE.get(arrays["x"].dtype.name)
    if share is None:
        return {"y": inside}
    return {"y": leading(oracle(arrays, sizes)["y"]) + share * inside}


def leading(values):
    """ufp: the largest power of two in each absolute value, 0 in 0."""
    return np.where(values == 0, 0.0, np.ldexp(0.5, np.frexp(values)[1]))


def flops(sizes):
    """One for the mean, three for the variance, four for the output."""
    return 8 * sizes["rows"] * sizes["cols"]
