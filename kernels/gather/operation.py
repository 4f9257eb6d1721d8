"""Gather: y[i, c] = table[index[i], c], rows contiguous. NumPy only.

A value is copied and nothing is computed, so the tolerance is zero. A NaN stays a NaN
(its payload is not looked at), an infinity stays that infinity, a subnormal is not
flushed, a zero keeps its sign. Every index is in 0 <= index < rows.
"""

import numpy as np

FORMULA = "y[i, c] = table[index[i], c] for i < items, c < cols"
REFERENCE = "CPU copy of the represented rows"
SIZES = ("items", "rows", "cols")
DTYPES = ("float32",)
OPERANDS = {"table": "input", "index": "input", "y": "output"}
OPERAND_DTYPES = {"index": "int32"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}
NONFINITE = "propagate"
SIGNED_ZERO = "exact"
STRESS = ()

SMALL_COLS = (1, 2, 3, 4, 5, 8, 12, 31, 32, 33, 124, 127, 128, 129, 132, 257)
SMALL_COLS += (1021, 1024, 1025, 1028)
SMALL_ITEMS = (0, 1, 7, 8, 9, 63, 64, 65)
WIDE = 70_000  # more rows than an index of 16 bits can name
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    items, rows, cols = (sizes[name] for name in SIZES)
    return {"table": (rows, cols), "index": (items,), "y": (items, cols)}


def cases(sizes):
    """(generator, seed, sizes): around every width of a copy, and the timed sizes."""
    small = [{"items": 11, "rows": 5, "cols": cols} for cols in SMALL_COLS]
    small += [{"items": items, "rows": 70, "cols": 36} for items in SMALL_ITEMS]
    small += [{"items": 10, "rows": 1, "cols": cols} for cols in (20, 21)]
    small += [{"items": items, "rows": WIDE, "cols": 1} for items in (300, WIDE)]
    chosen = [("ordinary", SEEDS[0], s) for s in small if s != sizes]
    few = {"items": 19, "rows": 13, "cols": 66}
    chosen += [(generator, SEEDS[0], few) for generator in GENERATORS]
    chosen += [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return chosen


def ordinary(draw, items, rows):
    """Another row for each item, in random order; every row, where they suffice."""
    if items > rows:
        return draw.permutation(np.resize(np.arange(rows), items))
    return draw.permutation(rows)[:items]


def anywhere(draw, items, rows):
    """Any row, some of them more than once."""
    return draw.integers(0, rows, items)


def ascending(draw, items, rows):
    """Rows in order, some of them more than once."""
    return np.sort(anywhere(draw, items, rows))


def repeated(draw, items, rows):
    """Four rows in random turns."""
    return draw.choice(draw.integers(0, rows, 4), items)


def ends(draw, items, rows):
    """The first row and the last one, in random turns."""
    return draw.choice([0, rows - 1], items)


def constant(draw, items, rows):
    """One row for all items."""
    return np.full(items, draw.integers(0, rows))


GENERATORS = {
    "ordinary": ordinary,
    "special": ordinary,
    "anywhere": anywhere,
    "ascending": ascending,
    "repeated": repeated,
    "ends": ends,
    "constant": constant,
}


def with_specials(draw, table):
    """One value in eight is NaN, an infinity, a zero of either sign or subnormal."""
    specials = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-45]
    return np.where(
        draw.random(table.shape) < 1 / 8, draw.choice(specials, table.shape), table
    )


def inputs(generator, seed, sizes):
    """Arrays table, shape (rows, cols), and index, int32, shape (items,)."""
    draw = np.random.default_rng(seed)
    index = GENERATORS[generator](draw, sizes["items"], sizes["rows"])
    table = draw.standard_normal((sizes["rows"], sizes["cols"]))
    if generator == "special":
        table = with_specials(draw, table)
    return {"table": table, "index": index}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (items, cols)."""
    return {"y": arrays["table"].astype(np.float64)[arrays["index"]]}


def magnitude(arrays, sizes):  # noqa: ARG001 - every magnitude is given both
    """Zeros: nothing is computed, so no error is relative to anything."""
    return {"y": np.zeros(shapes(sizes)["y"])}


def touched(sizes):
    """Each item's row, once however often it is named; the rest of the table never."""
    items, rows, cols = (sizes[name] for name in SIZES)
    return {"table": min(items, rows) * cols, "index": items, "y": items * cols}


def flops(sizes):  # noqa: ARG001 - every contract is given them
    """None: a copy."""
    return 0
