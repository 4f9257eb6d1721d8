"""Recurrence: h[t] = tanh(x[:, t] + W h[t-1]), h[0] = 0, y = last h. NumPy only.

Tolerance: an inner product of n terms errs by at most n u sum|terms| to first order,
u = 2**-24 (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1),
and by about sqrt(n) u sum|terms| where errors are independent (Higham and Mary,
SIAM J. Sci. Comput. 41, 2019). tanhf adds about 3 ulp, at most 6 u|h|. Errors of the
step before pass through W and through the derivative of tanh, d = 1 - h**2. So to first
order (a running error analysis, Higham 2002, section 3.3) the error is below K u M[t]:

    M[t] = |h[t]| + d (|x[t]| + |W| |h[t-1]| + |W| M[t-1]),  M[0] = 0

With row sums of |W| of at most 0.9, M cannot grow: it stays below (1.9 + max|x|) / 0.1,
however many steps. K = 16 has room for 128 hidden units, sqrt(129) = 11.4, and none for
a product or a state in half precision. A product that is subnormal errs by at most
2**-150: 128 of them, times 1 / (1 - 0.9) for what the steps before hand on, are less
than half of 2**-138.

NaN and infinity propagate. A NaN at x[b, t, j] makes y[b, j] NaN where t is the last
step, and all of y[b] where it is an earlier one. A NaN or an infinity at W[j, k] makes
y[:, j] NaN after one step, as it is multiplied by h = 0, and all of y after more. An
infinity in x makes h one or minus one there, and no NaN. Without a step y is 0.
"""

import numpy as np

FORMULA = "h = tanhf(x[:, t] + W h) for t < steps, from h = 0; y = h"
REFERENCE = "CPU float64 recurrence of the float32 inputs, not rounded between steps"
SIZES = ("batch", "steps", "hidden")
DTYPES = ("float32",)
OPERANDS = {"x": "input", "weights": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 2.0**-138, "rtol": 16 * 2.0**-24}}
NONFINITE = "propagate"
STRESS = ("saturated", "weightless", "tiny", "special", "special_weight")

SMALL_HIDDEN = (1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 96, 127, 128)
SMALL_STEPS = (0, 1, 2, 3, 33)
SEEDS = (7, 19)
ROW_SUM = 0.9


def shapes(sizes):
    """Shape of each operand."""
    batch, steps, hidden = (sizes[name] for name in SIZES)
    return {
        "x": (batch, steps, hidden),
        "weights": (hidden, hidden),
        "y": (batch, hidden),
    }


def cases(sizes):
    """(generator, seed, sizes): around every warp, few steps, and the timed sizes."""
    small = [{"batch": 3, "steps": 4, "hidden": hidden} for hidden in SMALL_HIDDEN]
    small += [{"batch": 2, "steps": steps, "hidden": 37} for steps in SMALL_STEPS]
    small += [{"batch": batch, "steps": 5, "hidden": 128} for batch in (0, 1)]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    few = {"batch": 17, "steps": 1, "hidden": 65}
    chosen += [(generator, SEEDS[0], few) for generator in GENERATORS]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def contraction(draw, hidden):
    """One large weight a row, each in another column, and small ones of both signs.

    What one unit held many steps ago still shows in the last h.
    """
    weights = draw.uniform(-1, 1, (hidden, hidden))
    weights *= 0.2 / np.abs(weights).sum(axis=1, keepdims=True)
    large = draw.choice([-1, 1], hidden) * (ROW_SUM - 0.2)
    weights[np.arange(hidden), draw.permutation(hidden)] += large
    return weights


def ordinary(draw, shape):
    """Inputs uniform in [-1, 1)."""
    return draw.uniform(-1, 1, shape), contraction(draw, shape[2])


def positive(draw, shape):
    """Positive inputs and weights of one size: sums of equal terms, no cancellation."""
    weights = draw.uniform(0.5, 1.5, (shape[2], shape[2]))
    weights *= ROW_SUM / weights.sum(axis=1, keepdims=True)
    return draw.uniform(0.0, 0.3, shape), weights


def saturated(draw, shape):
    """Inputs of either sign from 3 to 3000, where tanh is near one, then one."""
    x = draw.choice([-1, 1], shape) * 10 ** draw.uniform(0.5, 3.5, shape)
    return x, contraction(draw, shape[2])


def weightless(draw, shape):
    """Weights of zero, of either sign: the last inputs alone count."""
    return draw.uniform(-2, 2, shape), draw.choice([-0.0, 0.0], (shape[2], shape[2]))


def tiny(draw, shape):
    """Subnormal inputs of both signs, and negative zeros."""
    x = draw.uniform(-1e-39, 1e-39, shape)
    weights = contraction(draw, shape[2])
    weights[draw.random(weights.shape) < 0.2] = -0.0
    return np.where(draw.random(shape) < 0.3, -0.0, x), weights


def special(draw, shape):
    """Ordinary rows, some with a NaN at the last or any step, some with an infinity."""
    x, weights = ordinary(draw, shape)
    if not x.size:
        return x, weights
    for row in x:
        step, unit = draw.integers(0, shape[1]), draw.integers(0, shape[2])
        kind = draw.integers(0, 5)
        where = (-1 if kind == 1 else step, unit)
        row[where] = (row[where], np.nan, np.nan, np.inf, -np.inf)[kind]
    return x, weights


def special_weight(draw, shape):
    """A NaN or an infinity among ordinary weights."""
    x, weights = ordinary(draw, shape)
    row, column = draw.integers(0, shape[2], 2)
    weights[row, column] = draw.choice([np.nan, np.inf, -np.inf])
    return x, weights


GENERATORS = {
    "ordinary": ordinary,
    "positive": positive,
    "saturated": saturated,
    "weightless": weightless,
    "tiny": tiny,
    "special": special,
    "special_weight": special_weight,
}


def inputs(generator, seed, sizes):
    """Arrays x, shape (batch, steps, hidden), and weights, shape (hidden, hidden)."""
    draw = np.random.default_rng(seed)
    x, weights = GENERATORS[generator](draw, shapes(sizes)["x"])
    return {"x": x, "weights": weights}


def recurrence(arrays, sizes):
    """The last h, and the M of the docstring, both float64, shape (batch, hidden)."""
    x = arrays["x"].astype(np.float64)
    weights = arrays["weights"].astype(np.float64)
    absolute = np.abs(weights)
    h = np.zeros((sizes["batch"], sizes["hidden"]))
    bound = np.zeros_like(h)
    for step in range(sizes["steps"]):
        with np.errstate(invalid="ignore"):
            new = np.tanh(x[:, step] + np.einsum("bk,jk->bj", h, weights))
            terms = np.abs(x[:, step]) + (np.abs(h) + bound) @ absolute.T
            slope = 1 - new**2
            bound = np.abs(new) + np.where(slope == 0, 0.0, slope * terms)
        h = new
    return h, bound


def oracle(arrays, sizes):
    """Array y, float64, shape (batch, hidden)."""
    return {"y": recurrence(arrays, sizes)[0]}


def magnitude(arrays, sizes):
    """The running bound M of the docstring."""
    return {"y": recurrence(arrays, sizes)[1]}


def flops(sizes):
    """A product and an addition a weight, and one for tanh, each step."""
    batch, steps, hidden = (sizes[name] for name in SIZES)
    return batch * steps * hidden * (2 * hidden + 1)
