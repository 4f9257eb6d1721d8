"""Triad: y[i] = fma(alpha, x[i], z[i]) for every i < n, float32. NumPy only.

One fused multiply-add an element: 2 FLOPs, two elements read, one written.
"""

import numpy as np

FORMULA = "y[i] = fmaf(1.25f, x[i], z[i])"
REFERENCE = "CPU float64 fma of the float32 inputs, not rounded to float32"
SIZES = ("n",)
DTYPES = ("float32",)
OPERANDS = {"x": "input", "z": "input", "y": "output"}
SCALARS = {"alpha": 1.25}

SMALL_SIZES = (0, 1, 255, 256, 257)
SEEDS = (7, 19, 101)


def shapes(sizes):
    """Shape of each operand."""
    return dict.fromkeys(OPERANDS, (sizes["n"],))


def cases(sizes):
    """(generator, seed, sizes): below, on and above a block, and the timed n."""
    small = [(SEEDS[0], n) for n in SMALL_SIZES if n != sizes["n"]]
    timed = [(seed, sizes["n"]) for seed in SEEDS]
    return [
        (generator, seed, {"n": n})
        for generator in GENERATORS
        for seed, n in small + timed
    ]


def lab(seed, n):
    """Small rationals, with zeros, an exact cancellation and +-1e10 every 4096."""
    i = np.arange(n, dtype=np.int64)
    x = (((i * 29 + seed * 17) % 251 - 125) / 63.0).astype(np.float32)
    z = (((i * 31 + seed * 13) % 239 - 119) / 71.0).astype(np.float32)
    return _plant(x, z, stride=4096)


def wide(seed, n):
    """Random signs and magnitudes from 1e-6 to 1e6, the same specials every 1021."""
    draw = np.random.default_rng(seed)

    def operand():
        magnitude = 10.0 ** draw.uniform(-6.0, 6.0, n)
        return (magnitude * draw.choice([-1.0, 1.0], n)).astype(np.float32)

    return _plant(operand(), operand(), stride=1021)


def _plant(x, z, *, stride):
    alpha = np.float32(SCALARS["alpha"])
    for offset, (x_value, z_value) in enumerate(
        [(0.0, 0.0), (1.0, -alpha), (1e10, -1e10)]
    ):
        x[offset::stride] = x_value
        z[offset::stride] = z_value
    return {"x": x, "z": z}


GENERATORS = {"lab": lab, "wide": wide}


def inputs(generator, seed, sizes):
    """Arrays x and z, float32, shape (n,)."""
    return GENERATORS[generator](seed, sizes["n"])


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (n,).

    alpha*x is exact in float64 (24 by 24 bit significands), so the sum below rounds
    once, as a fused multiply-add in float64 does.
    """
    x = arrays["x"].astype(np.float64)
    z = arrays["z"].astype(np.float64)
    return {"y": SCALARS["alpha"] * x + z}


def flops(sizes):
    """A fused multiply-add counts as two."""
    return 2 * sizes["n"]
