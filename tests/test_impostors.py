"""The contract judges itself before any arm is judged."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import ROOT
from fivegates import operations
from fivegates.claim import Tolerance
from fivegates.contract import Case, Right
from fivegates.errors import ClaimError
from fivegates.impostors import (
    accepted_impostors,
    accepts,
    impostors,
    rounded,
    weaknesses,
)

SIZES = {"rows": 64, "cols": 1000}
NAMES = sorted(path.parent.name for path in ROOT.glob("kernels/*/operation.py"))
TRIAD = Tolerance(atol=2e-6, rtol=2e-5)
HALF = Tolerance(atol=2.0**-24, rtol=1.25 * 2.0**-10)


@pytest.fixture(scope="module")
def row_sum():
    return operations.load(ROOT, "row_sum")


def plain(values):
    return {"y": Right(values=values, magnitude=np.abs(values))}


def tolerance(operation, factor=1.0):
    limit = operation.limits[operation.dtype]
    return Tolerance(atol=factor * limit.atol, rtol=factor * limit.rtol)


def test_tolerance_of_the_contract_tells_right_from_wrong(row_sum):
    assert weaknesses(row_sum, SIZES, tolerance(row_sum)) == ()
    half = operations.load(ROOT, "row_sum", "float16")
    assert weaknesses(half, SIZES, tolerance(half)) == ()


def test_tolerance_that_half_precision_meets_is_named(row_sum):
    found = weaknesses(row_sum, SIZES, tolerance(row_sum, 300))
    generators = ("offset", "ordinary", "repeated")
    assert found == tuple(f"less precise for y ({name})" for name in generators)


def test_tolerance_that_rounding_does_not_meet_is_an_error(row_sum):
    with pytest.raises(ClaimError) as error:
        weaknesses(row_sum, SIZES, tolerance(row_sum, 0.01))
    assert str(error.value).startswith("tolerance: y rounded to float32 reaches ")
    assert str(error.value).endswith(
        " of it, expected at most 0.5; no kernel comes nearer"
    )


def test_outputs_must_depend_on_every_input(triad):
    """An oracle that forgets an input, and one that forgets them all."""

    def deaf(arrays, _):
        return {"y": arrays["x"].astype(np.float64)}

    loose = Tolerance(atol=2e-6, rtol=2e-5)
    assert weaknesses(replace(triad, oracle=deaf), {"n": 999}, loose) == (
        "other values of z (lab)",
        "other values of z (wide)",
    )

    def constant(_, sizes):
        return {"y": np.arange(1.0, 1 + sizes["n"]) ** 2}

    found = weaknesses(replace(triad, oracle=constant), {"n": 999}, loose)
    assert set(found) >= {"other inputs (lab)", "other values of x (wide)"}


def test_generators_under_stress_need_not_tell(row_sum):
    """A sum that cancels to nothing cannot be told from zeros."""
    assert "cancelling" in row_sum.stress
    strict = replace(row_sum, stress=())
    named = weaknesses(strict, SIZES, tolerance(row_sum))
    assert any("cancelling" in text for text in named)


@pytest.mark.parametrize(("bits", "step"), [(11, 2.0**-11), (7, 2.0**-7)])
def test_fewer_bits_move_a_value_by_half_a_step_at_most(bits, step):
    values = np.random.default_rng(1).uniform(0.5, 1.0, 1000) * 2.0 ** np.arange(1000)
    found = rounded(values, bits)
    relative = np.abs(found / values - 1)
    assert 0.2 * step < relative.max() <= step
    assert np.array_equal(rounded(found, bits), found)


def test_impostor_that_is_right_somewhere_is_counted_where_it_is_wrong():
    right = Right(values=np.array([0.0, 0.0, 0.0, 1.0]), magnitude=np.ones(4))
    assert not accepts(np.zeros(4), right, Tolerance(atol=0.1, rtol=0.0))
    assert accepts(np.zeros(4), right, Tolerance(atol=2.0, rtol=0.0))


def test_integers_have_no_lower_precision():
    right = Right(values=np.arange(4.0), magnitude=np.arange(4.0), dtype="uint32")
    assert "less precise" not in impostors(right)


@pytest.mark.parametrize("name", NAMES)
def test_contract_is_the_same_for_the_same_seed_and_differs_for_another(name):
    operation = operations.load(ROOT, name)
    sizes = dict.fromkeys(operation.sizes, 40)
    case = operation.cases(sizes)[-1]
    one, two = operation.inputs(case), operation.inputs(case)
    other = operation.inputs(replace(case, seed=case.seed + 1))
    assert all(one[n].tobytes() == two[n].tobytes() for n in one)
    assert any(one[n].tobytes() != other[n].tobytes() for n in one)
    for operand, array in one.items():
        assert array.dtype.name == operation.dtype_of(operand)
        assert array.shape == tuple(operation.shapes(case.sizes)[operand])


@pytest.mark.parametrize("name", NAMES)
def test_timed_sizes_are_checked_with_every_generator(name):
    operation = operations.load(ROOT, name)
    sizes = dict.fromkeys(operation.sizes, 40)
    timed = [case for case in operation.cases(sizes) if case.sizes == sizes]
    every = {case.generator for case in operation.cases(sizes)}
    assert {case.generator for case in timed} == every
    assert set(operation.stress) < every
    assert operation.cases(sizes)[0].generator not in operation.stress


def test_case_of_the_first_generator_is_finite_everywhere():
    """Gate 3 times its values."""
    for name in NAMES:
        operation = operations.load(ROOT, name)
        sizes = dict.fromkeys(operation.sizes, 40)
        first = operation.cases(sizes)[0].generator
        inputs = operation.inputs(Case(generator=first, seed=3, sizes=sizes))
        for right in operation.expected(inputs, sizes).values():
            assert np.isfinite(right.values).all()


def test_triad_contract_refuses_every_impostor(triad):
    for generator in ("lab", "wide"):
        case = Case(generator=generator, seed=7, sizes={"n": 4099})
        expected = triad.expected(triad.inputs(case), case.sizes)
        assert accepted_impostors(expected, TRIAD) == ()


def test_tolerance_that_accepts_zeros_is_named():
    """corpus E02"""
    small = plain(np.full(4096, 1e-4) + np.arange(4096) * 1e-9)
    loose = Tolerance(atol=1e-2, rtol=0.0)
    assert accepted_impostors(small, loose) == (
        "zeros for y",
        "mean for y",
        "half-written for y",
        "shifted for y",
        "scaled for y",
        "less precise for y",
    )


def test_few_extreme_values_do_not_speak_for_all_the_others(triad):
    """The planted 1e10 is refused by any tolerance; what of the rest?"""
    case = Case(generator="lab", seed=7, sizes={"n": 4099})
    expected = triad.expected(triad.inputs(case), case.sizes)
    for loose in (Tolerance(atol=1e9, rtol=0.0), Tolerance(atol=0.0, rtol=0.99)):
        assert accepted_impostors(expected, loose) != ()


def test_constant_output_is_no_impostor_of_itself():
    constant = plain(np.full(16, 3.0))
    assert accepted_impostors(constant, TRIAD) == ()
