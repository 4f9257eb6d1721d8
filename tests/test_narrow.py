"""Half and bfloat16: what the contracts say of them, and arms that no claim names."""

from dataclasses import replace

import numpy as np
import pytest

import mutation
from conftest import ROOT
from fivegates import operations
from fivegates.claim import Claim, Tolerance, cases
from fivegates.contract import digest
from fivegates.impostors import ROOM, weaknesses
from mutation import SURVIVED, contract, frozen, refused_by

TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16"}
SIZES = {"rows": 64, "cols": 300}
NARROW = [
    (path.parent.name, dtype)
    for path in sorted(ROOT.glob("kernels/*/operation.py"))
    for dtype in operations.load(ROOT, path.parent.name).dtypes
    if dtype in TYPES
]
# Claims of one narrow dtype, whose arms are templates for the other one too.
ALSO = {
    "layernorm-bfloat16-registers": "float16",
    "rmsnorm-bfloat16-registers": "float16",
    "softmax-half-registers": "bfloat16",
}


def sizes_of(operation):
    return SIZES if operation.sizes == tuple(SIZES) else {"m": 64, "n": 64, "k": 60}


def in_other(name: str, dtype: str) -> Claim:
    """A claim in another dtype, at small sizes, with what room a pass needs."""
    claim = frozen(name)
    operation = contract(claim.operation, dtype)
    limit = operation.limits[dtype]
    other = replace(
        claim,
        name=f"{name}-{dtype}",
        workload=replace(claim.workload, dtype=dtype, sizes=sizes_of(operation)),
        tolerance=Tolerance(atol=ROOM * limit.atol, rtol=ROOM * limit.rtol),
        arms={
            role: replace(arm, entry=f"{arm.entry.partition('<')[0]}<{TYPES[dtype]}>")
            for role, arm in claim.arms.items()
        },
    )
    return replace(other, cases_sha256=digest(cases(other, operation)))


@pytest.mark.parametrize(("name", "dtype"), NARROW)
def test_contract_tells_right_from_wrong(name, dtype):
    operation = operations.load(ROOT, name, dtype)
    limit = operation.limits[dtype]
    tolerance = Tolerance(atol=limit.atol, rtol=limit.rtol)
    assert weaknesses(operation, sizes_of(operation), tolerance) == ()


@pytest.mark.parametrize("role", ["baseline", "candidate"])
@pytest.mark.parametrize("name", ALSO)
def test_template_is_right_in_the_other_dtype(monkeypatch, name, role):
    claim = in_other(name, ALSO[name])
    monkeypatch.setattr(mutation, "frozen", {claim.name: claim}.get)
    source = (ROOT / claim.arms[role].source).read_text()
    assert refused_by(claim, role, source, gates=False) == (SURVIVED, "")


@pytest.mark.parametrize(
    ("dtype", "last", "first"),
    [
        ("float16", (65504, 15), (65504, 16)),
        ("bfloat16", (2.0**128 - 2.0**120, 2.0**118), (2.0**128 - 2.0**120, 2.0**119)),
        ("float32", (2.0**128 - 2.0**104, 2.0**102), (2.0**128 - 2.0**104, 2.0**103)),
    ],
)
def test_sum_is_infinite_from_half_a_step_past_the_largest(dtype, last, first):
    operation = operations.load(ROOT, "row_sum", dtype)
    x = np.array([last, first, np.negative(first)], dtype)
    y = operation.oracle({"x": x}, {"rows": 3, "cols": 2})["y"]
    assert list(y) == [sum(last), np.inf, -np.inf]
