"""Matrix product: C = A B, row-major, A is (m, k), B is (k, n). NumPy only.

Float16 and bfloat16 operands are multiplied and added in float32, and only C is rounded
to their dtype, once: that is part of the contract. IEEE arithmetic decides what becomes
of NaN and infinity: every product counts, 0 * inf is NaN, and so are opposite
infinities in one sum. Where k is 0, C is 0.

Tolerance: a sum of k products in any order, fused or not, errs by at most k u |A||B|
to first order, u = 2**-24 (Higham, Accuracy and Stability of Numerical Algorithms,
2002, sections 3.1 and 3.5), and by a small multiple of sqrt(k) u |A||B| where rounding
errors are independent (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). Four such units
have twice the room that adding one product after the other needs. Inputs rounded to
11 bits, as TF32 or half operands are, have none: the ordinary values refuse them at the
timed sizes, and for any k so do values that all lie on one side of what they round to.
An output in float16 or bfloat16 is rounded once more, by at most v ufp(r), v its own
unit roundoff and ufp(r) the largest power of two in |r| (Rump, Ogita and Oishi,
Accurate floating-point summation I, SIAM J. Sci. Comput. 31, 2008). 2.5 v of ufp(r),
and of what makes 5 u sqrt(k) |A||B|, have twice the room for both, and none for a sum
in half. The absolute part is for products that underflow.
"""

import numpy as np

FORMULA = "c[i, j] = sum(a[i, l] * b[l, j] for l < k), accumulated in float32"
REFERENCE = (
    "CPU float64 products and sums of the represented inputs, rounded to infinity "
    "past the dtype"
)
SIZES = ("m", "n", "k")
DTYPES = ("float32", "float16", "bfloat16")
OPERANDS = {"a": "input", "b": "input", "c": "output"}
SCALARS = {}
TOLERANCE = {
    "float32": {"atol": 1e-37, "rtol": 4 * 2.0**-24},
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
STRESS = ("cancelling", "overflowing", "special")

EDGES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97)
AROUND = {"m": 37, "n": 41, "k": 23}
EXTREME = (
    {"m": 37, "n": 41, "k": 0},
    {"m": 0, "n": 41, "k": 23},
    {"m": 37, "n": 0, "k": 23},
    {"m": 1, "n": 1, "k": 1},
    {"m": 5, "n": 3, "k": 1025},
    {"m": 2, "n": 1031, "k": 5},
    {"m": 1031, "n": 2, "k": 5},
)
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    m, n, k = (sizes[name] for name in SIZES)
    return {"a": (m, k), "b": (k, n), "c": (m, n)}


def cases(sizes):
    """(generator, seed, sizes): each size around every tile, and the timed sizes."""
    small = [{**AROUND, name: edge} for name in SIZES for edge in EDGES]
    chosen = [("ordinary", SEEDS[0], s) for s in [*small, *EXTREME] if s != sizes]
    chosen += [("special", SEEDS[0], AROUND)]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, m, n, k):
    """Uniform in [-0.5, 1.5): products that do not cancel."""
    return draw.uniform(-0.5, 1.5, (m, k)), draw.uniform(-0.5, 1.5, (k, n))


def one_sided(draw, m, n, k):
    """Values in [1, 2), all a little above one of 11 bits: its errors do not cancel.

    Zeros, few or many in each row of A, tell the rows of C apart.
    """
    a, b = (
        (1024 + draw.integers(0, 1024, shape) + 0.4) / 1024
        for shape in ((m, k), (k, n))
    )
    return a * (draw.random((m, k)) < draw.uniform(0.3, 1, (m, 1))), b


def scaled(draw, m, n, k):
    """Rows of A and columns of B, each with a power of two of its own."""
    a, b = ordinary(draw, m, n, k)
    a *= 2.0 ** draw.integers(-12, 4, (m, 1))
    b *= 2.0 ** draw.integers(-3, 4, (1, n))
    return a, b


def one_hot(draw, m, n, k):
    """A single 1 in each row of A: C repeats rows of B."""
    a, b = ordinary(draw, m, n, k)
    if k:
        a = np.eye(k)[draw.integers(0, k, m)]
    return a, b


def identity(draw, m, n, k):
    """A is diagonal with 1 and -1, cut or continued with zeros."""
    a, b = ordinary(draw, m, n, k)
    return np.eye(m, k) * np.where(a < 0.5, -1.0, 1.0), b


def cancelling(draw, m, n, k):
    """Pairs of products that nearly cancel, far from each other."""
    a, b = draw.uniform(0.5, 1.5, (m, k)), draw.uniform(0.5, 1.5, (k, n))
    half = k // 2
    a[:, half : 2 * half] = -a[:, :half]
    b[half : 2 * half] = b[:half] + draw.uniform(-1e-3, 1e-3, (half, n))
    order = draw.permutation(k)
    return a[:, order], b[order]


def overflowing(draw, m, n, k):
    """Rows past the largest float16 from two products on, past float32, and neither."""
    a, b = draw.uniform(200, 250, (m, k)), draw.uniform(200, 250, (k, n))
    a[1::2] /= 250 * max(k, 1)
    a[2::4] *= 1e36
    return a, b


def special(draw, m, n, k):
    """Ordinary values and zeros, with NaN and infinities in a few places."""
    a, b = (
        np.where(draw.random(x.shape) < 0.1, 0.0, x) for x in ordinary(draw, m, n, k)
    )
    for array in (a, b):
        if array.size:
            places = draw.integers(0, array.size, 4)
            array.flat[places] = (np.nan, np.inf, -np.inf, np.inf)
    return a, b


GENERATORS = {
    "ordinary": ordinary,
    "one_sided": one_sided,
    "scaled": scaled,
    "one_hot": one_hot,
    "identity": identity,
    "cancelling": cancelling,
    "overflowing": overflowing,
    "special": special,
}


def inputs(generator, seed, sizes):
    """Arrays a, shape (m, k), and b, shape (k, n), cast to the claim's dtype."""
    draw = np.random.default_rng(seed)
    a, b = GENERATORS[generator](draw, *(sizes[name] for name in SIZES))
    return {"a": a, "b": b}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array c, float64, shape (m, n)."""
    with np.errstate(invalid="ignore"):
        c = _product(arrays["a"].astype(np.float64), arrays["b"].astype(np.float64))
    roundoff, limit = FORMATS[arrays["a"].dtype.name]
    infinite = np.abs(c) >= (1 - roundoff / 2) * limit
    return {"c": np.where(infinite, np.copysign(np.inf, c), c)}


def magnitude(arrays, sizes):
    """sqrt(k) |A||B|, or of a narrow output ufp(r) and a share of that."""
    a, b = (np.abs(arrays[name].astype(np.float64)) for name in ("a", "b"))
    with np.errstate(invalid="ignore"):
        absolute = np.sqrt(sizes["k"]) * _product(a, b)
    if arrays["a"].dtype == np.float32:
        return {"c": absolute}
    roundoff, _ = FORMATS[arrays["a"].dtype.name]
    share = 2 * 2.0**-24 / roundoff
    return {"c": leading(oracle(arrays, sizes)["c"]) + share * absolute}


def leading(values):
    """ufp: the largest power of two in each absolute value, 0 in 0."""
    return np.where(values == 0, 0.0, np.ldexp(0.5, np.frexp(values)[1]))


def _product(a, b):
    """Every product counts: a library for matrices may skip those with zeros."""
    return np.einsum("il,lj->ij", a, b, optimize=False)


def flops(sizes):
    """A multiplication and an addition a product."""
    return 2 * sizes["m"] * sizes["n"] * sizes["k"]
