"""Working beginnings: a contract with its first arm, and a claim with its candidate."""

import re
from pathlib import Path
from string import Template

from fivegates import operations
from fivegates.contract import Limit, Operation
from fivegates.errors import ArtifactError, ClaimError

OPERATION_NAME = re.compile(r"[a-z][a-z0-9_]*")
CLAIM_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

CONTRACT = Template('''\
"""$name: y[i] = 2 * x[i]. NumPy only. Say what is computed and for which values.

Tolerance: one rounding, at most half a unit in the last place, 2**-24 |r| in float32;
four times that leaves room. Derive yours from dtype and operation count, and cite it.
"""

import numpy as np

FORMULA = "y[i] = 2 * x[i]"
REFERENCE = "CPU float64 of the represented inputs"
SIZES = ("n",)
DTYPES = ("float32",)
OPERANDS = {"x": "input", "y": "output"}
SCALARS = {}
TOLERANCE = {"float32": {"atol": 0.0, "rtol": 4 * 2.0**-24}}

SMALL_SIZES = (0, 1, 31, 255, 256, 257)
SEEDS = (7, 19)


def shapes(sizes):
    """Shape of each operand."""
    return dict.fromkeys(OPERANDS, (sizes["n"],))


def cases(sizes):
    """(generator, seed, sizes): around each tile; at the timed sizes, all values."""
    small = [("ordinary", SEEDS[0], {"n": n}) for n in SMALL_SIZES if n != sizes["n"]]
    timed = [(generator, seed, sizes) for generator in GENERATORS for seed in SEEDS]
    return small + timed


def ordinary(draw, n):
    """Values of both signs. The first generator is the one that is timed."""
    return draw.uniform(-1, 1, n)


def wide(draw, n):
    """Magnitudes from 1e-30 to 1e30."""
    return draw.choice([-1.0, 1.0], n) * 10.0 ** draw.uniform(-30, 30, n)


GENERATORS = {"ordinary": ordinary, "wide": wide}


def inputs(generator, seed, sizes):
    """Array x, shape (n,), cast to the claim's dtype."""
    return {"x": GENERATORS[generator](np.random.default_rng(seed), sizes["n"])}


def oracle(arrays, sizes):  # noqa: ARG001 - every oracle is given both
    """Array y, float64, shape (n,)."""
    return {"y": 2 * arrays["x"].astype(np.float64)}


def flops(sizes):
    """A multiplication an element."""
    return sizes["n"]
''')

KERNEL = Template("""\
// y[i] = 2 * x[i], float32: one element a thread.
// Per element: 1 FLOP, 8 bytes. Launch: ceil(n / 256) blocks of 256 threads.
extern "C" __global__ void ${name}_plain(const float* __restrict__ x,
                                         float* __restrict__ y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}
""")

CLAIM = Template("""\
claim: $entry lowers buffer-rotated $operation latency versus $baseline
operation: $operation
$workload
baseline:
$arm
candidate:
$candidate
""")

FIRST_CLAIM = Template("""\
workload:
  sizes: {$sizes}
  dtype: $dtype
  boundary: device
  cache_regime: buffer-rotated
tolerance: {atol: $atol, rtol: $rtol}
margin: 0.01
baseline:
  source: kernels/$operation/plain.cu
  entry: ${operation}_plain
  grid: ["$grid"]
  block: [256]
  arguments: [$arguments]
  options: [--std=c++17]
candidate:
""")
# Of a first claim: those of the one size of a line, and of each of several.
LINE_SIZE, SIDE_SIZE = 1000003, 1021
# Where the contract leaves the tolerance to the claim.
FREE_LIMIT = Limit(atol=0.0, rtol=2.0**-20)


def new_operation(root: Path, name: str) -> list[Path]:
    """Write a contract and its plain arm; the paths, or ArtifactError."""
    if not OPERATION_NAME.fullmatch(name):
        raise ArtifactError(
            f"{name!r}: no name of an operation, expected lower case letters, digits "
            "and _, such as row_sum"
        )
    folder = Path("kernels", name)
    return _written(
        root,
        {
            folder / "operation.py": CONTRACT.substitute(name=name),
            folder / "plain.cu": KERNEL.substitute(name=name),
        },
    )


def new_claim(root: Path, name: str, operation: str) -> list[Path]:
    """Write a claim and a candidate that is the baseline still, under its own name.

    The baseline is that of the operation's first claim, or its plain arm.
    """
    if not CLAIM_NAME.fullmatch(name):
        raise ArtifactError(
            f"{name!r}: no name of a claim, expected a lower case letter, then "
            "letters, digits and -, such as row-sum-warp"
        )
    text = _pattern(root, operations.load(root, operation))
    source = _field(text, "source")
    entry = _field(text, "entry")
    candidate, arm = name.replace("-", "_"), Path("kernels", operation)
    head, _, baseline = text.partition("baseline:\n")
    baseline = baseline.partition("candidate:\n")[0].rstrip("\n")
    kernel = arm / f"{candidate}.cu"
    body = baseline.replace(source, kernel.as_posix()).replace(entry, candidate)
    workload = head[head.index("workload:") :].rstrip("\n")
    return _written(
        root,
        {
            Path("config/claims") / f"{name}.yaml": CLAIM.substitute(
                entry=candidate,
                baseline=entry,
                operation=operation,
                workload=workload,
                arm=baseline,
                candidate=body,
            ),
            kernel: (root / source).read_text().replace(entry, candidate),
        },
    )


def _pattern(root: Path, operation: Operation) -> str:
    """A claim about the operation to follow."""
    name = operation.name
    texts = [p.read_text() for p in sorted((root / "config/claims").glob("*.yaml"))]
    about = [t for t in texts if re.search(rf"^operation: {name}$", t, re.M)]
    alone = [t for t in about if re.search(r"^workload:", t, re.M)]
    if alone:
        return min(alone, key=lambda text: "dtype: float32" not in text)
    if not (root / "kernels" / name / "plain.cu").is_file():
        raise ClaimError(
            f"kernels/{name}/plain.cu: no such file and no claim about "
            f"{name}, expected an arm to begin with"
        )
    return _first(operation)


def _first(operation: Operation) -> str:
    """What a contract says of a claim: one thread an element, or one block a row."""
    first, *others = operation.sizes
    dtype = operation.dtypes[0]
    limit = (operation.limits or {}).get(dtype, FREE_LIMIT)
    passed = [f"uint64 {size}" for size in operation.sizes]
    passed += [f"float32 {scalar}" for scalar in operation.scalars]
    return FIRST_CLAIM.substitute(
        operation=operation.name,
        sizes=", ".join(
            f"{size}: {SIDE_SIZE if others else LINE_SIZE}" for size in operation.sizes
        ),
        dtype=dtype,
        atol=limit.atol,
        rtol=limit.rtol,
        grid=first if others else f"ceil_div({first}, 256)",
        arguments=", ".join((*operation.operands, *passed)),
    )


def _field(text: str, name: str) -> str:
    found = re.search(rf"^  {name}: (\S+)$", text, re.M)
    if found is None:
        raise ClaimError(f"baseline.{name} is missing, expected it on a line")
    return found[1]


def _written(root: Path, files: dict[Path, str]) -> list[Path]:
    """Write all files, or none where one is there already."""
    for path in files:
        if (root / path).exists():
            raise ArtifactError(f"{path}: exists, expected a new name")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return list(files)
