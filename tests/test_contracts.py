"""A contract that says half of what it must, or in words that nobody knows."""

from dataclasses import replace

import numpy as np
import pytest

import mutation
from conftest import ROOT
from fivegates import operations
from fivegates.claim import Tolerance, require_bound
from fivegates.comparison import judged
from fivegates.contract import Case, Right, stated_order
from fivegates.errors import ClaimError, ContractError
from fivegates.impostors import weaknesses
from fivegates.skeleton import new_operation

NAME = "kernels/doubled/operation.py"
EXACT = Tolerance(atol=0.0, rtol=0.0)


@pytest.fixture
def loaded(tmp_path):
    """The contract that `fivegates new operation` writes, with one edit."""
    new_operation(tmp_path, "doubled")
    path = tmp_path / NAME

    def load(old="", new="", dtype="float32"):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return operations.load(tmp_path, "doubled", dtype)

    load.path = path
    return load


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            'NONFINITE = "refuse"',
            "NONFINITE is 'refuse', expected refused or propagate",
        ),
        ('SIGNED_ZERO = "Exact"', "SIGNED_ZERO is 'Exact', expected equal or exact"),
        ('ORDER = "any"', "ORDER is 'any', expected fixed or free or unordered"),
        ('STRESS = ("hard",)', "STRESS names hard, expected ordinary or wide"),
        (
            'STRESS = ("ordinary", "wide")',
            "STRESS names every generator, expected one left",
        ),
        (
            'OPERAND_DTYPES = {"z": "int32"}',
            "OPERAND_DTYPES names z, expected x or y",
        ),
        (
            'TOLERANCE = {"float16": {"atol": 0.0, "rtol": 0.0}}',
            "TOLERANCE is for float16, expected float32",
        ),
        (
            'TOLERANCE = {"float32": {"atl": 0.0}}',
            "TOLERANCE['float32'] has atl, expected atol and rtol",
        ),
    ],
)
def test_word_that_nobody_knows_is_one_error(loaded, line, error):
    with pytest.raises(ContractError) as raised:
        loaded("\ndef flops(", f"\n{line}\n\n\ndef flops(")
    assert str(raised.value) == f"{NAME}: {error}"


@pytest.mark.parametrize(
    "lines",
    [
        'ORDER = "unordered"',
        'ORDER = "unordered"\nTOLERANCE = {"float32": {"atol": 0.0, "rtol": 1e-6}}',
        'ORDER = "unordered"\nTOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}\n'
        'NONFINITE = "propagate"',
        'ORDER = "unordered"\nTOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}\n'
        'SIGNED_ZERO = "exact"',
        'ORDER = "unordered"\nTOLERANCE = {"float32": {"atol": 0.0, "rtol": 0.0}}\n'
        'OPERANDS = {"x": "input", "y": "output", "z": "output"}',
    ],
)
def test_elements_in_any_order_are_exact(loaded, lines):
    with pytest.raises(ContractError) as raised:
        loaded("\ndef flops(", f"\n{lines}\n\n\ndef flops(")
    assert str(raised.value) == (
        f"{NAME}: ORDER is 'unordered', expected one output, a TOLERANCE of 0 for each "
        "dtype, NONFINITE 'refused' and SIGNED_ZERO 'equal'"
    )


def test_inputs_of_another_shape_are_refused(loaded):
    """One element would be laid out at every place of a view."""
    operation = loaded()
    with pytest.raises(ContractError) as raised:
        operation.allocated({"x": np.zeros(1, np.float32)}, {"n": 3})
    assert str(raised.value) == (f"{NAME}: inputs gives x of shape (1,), expected (3,)")


def test_view_of_an_operand_that_is_not_there_is_refused(loaded):
    views = "def views(sizes):\n    return {'z': (1, (1,))}"
    operation = loaded("\ndef flops(", f"\n{views}\n\n\ndef flops(")
    with pytest.raises(ContractError) as raised:
        operation.layout("x", {"n": 3})
    assert str(raised.value) == f"{NAME}: views names z, expected x or y"


def test_order_is_written_where_a_verifier_can_read_it(loaded):
    with pytest.raises(ContractError) as raised:
        loaded("\ndef flops(", '\nORDER = "".join("free")\n\n\ndef flops(')
    assert str(raised.value) == (
        f"{NAME}: ORDER is 'free', expected it as a string in the file, as a verifier "
        "does not execute it"
    )


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", "fixed"),
        ('ORDER = "free"', "free"),
        ('ORDER = "free"\nORDER = "fixed"', "fixed"),
        ('if True:\n    ORDER = "free"', "fixed"),
        ("ORDER = 1", None),
        ('ORDER = "fr" + "ee"', None),
        ("ORDER = ", None),
        ('ORDER: str = "free"', "free"),
        ("-" * 200000 + "1", None),
        ("1+" * 100000 + "1", None),
        ("\0", None),
    ],
)
def test_order_is_read_and_not_executed(text, order):
    assert stated_order(text) == order


def test_dtype_of_an_operand_must_be_known(loaded):
    with pytest.raises(ContractError) as raised:
        loaded("SCALARS = {}", 'SCALARS = {}\nOPERAND_DTYPES = {"y": "float8"}')
    assert str(raised.value) == (
        f"{NAME}: dtype float8, expected float32 or float16 or bfloat16 or int32 or "
        "uint32"
    )


@pytest.mark.parametrize(
    ("oracle", "error"),
    [
        ("{}", "nothing, expected y"),
        ('{"y": np.zeros(3)}', "y of shape (3,), expected (4,)"),
        ('{"y": np.zeros(4), "z": np.zeros(4)}', "y, z, expected y"),
        ('{"y": 2 * arrays["x"]}', "y in float32, expected float64"),
        (
            '{"y": arrays["x"] / np.float64(0)}',
            "y that is not finite, expected finite values, or NONFINITE = 'propagate'",
        ),
    ],
)
def test_oracle_gives_every_output_in_its_shape_and_float64(loaded, oracle, error):
    operation = loaded(
        'return {"y": 2 * arrays["x"].astype(np.float64)}', f"return {oracle}"
    )
    with pytest.raises(ContractError) as raised, np.errstate(all="ignore"):
        operation.expected({"x": np.zeros(4, np.float32)}, {"n": 4})
    assert str(raised.value) == f"{NAME}: oracle gives {error}"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'arrays["x"].astype',
            'array["x"].astype',
            "oracle raises NameError: name 'array'",
        ),
        (
            "return draw.uniform(-1, 1, n)",
            "return draw.uniform(-1, 1, n)[n]",
            "inputs ",
        ),
        ("return dict.fromkeys", "return dic.fromkeys", "shapes raises NameError: "),
    ],
)
def test_what_a_contract_raises_names_its_line_and_case(loaded, old, new, error):
    operation = loaded(old, new)
    text = (loaded.path).read_text()
    line = 1 + text[: text.index(new)].count("\n")
    with pytest.raises(ContractError) as raised:
        weaknesses(operation, {"n": 4}, Tolerance(atol=0.0, rtol=1e-6))
    assert str(raised.value).startswith(f"{NAME}:{line}: {error}")
    assert str(raised.value).endswith(", in case n=4, seed=7, ordinary")


def test_fault_of_a_contract_is_not_put_down_to_the_claim(loaded):
    """Whoever names a claim in front of its errors lets those of a contract alone."""
    operation = loaded("return dict.fromkeys", "return dic.fromkeys")
    claim = mutation.frozen("triad-vec4")
    with pytest.raises(ContractError) as raised:
        require_bound(replace(claim, tolerance=EXACT), operation)
    assert str(raised.value).startswith(f"{NAME}:23: shapes raises NameError: ")


def test_function_that_gives_no_dict_is_one_error(loaded):
    operation = loaded(
        'return {"y": 2 * arrays', 'return 2 * arrays["x"]\n    {"y": arrays'
    )
    with pytest.raises(ContractError) as raised:
        operation.expected({"x": np.zeros(4, np.float32)}, {"n": 4})
    assert str(raised.value) == f"{NAME}: oracle gives ndarray, expected a dict"


def test_sizes_that_a_contract_refuses_are_no_fault_of_it(loaded):
    operation = loaded(
        "    return dict.fromkeys", "    raise ValueError('n is odd')\n    "
    )
    with pytest.raises(ClaimError, match=r"^n is odd$"):
        operation.layout("x", {"n": 3})


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "def flops",
            "NON_FINITE = 1\n\n\ndef flops",
            "NON_FINITE is no known name, expected NONFINITE",
        ),
        (
            "def flops",
            "magnitud = None\n\n\ndef flops",
            "magnitud is no known name, expected magnitude",
        ),
        ("def oracle", "def oracles", "oracles is no known name, expected oracle"),
        (
            '("float32",)',
            '("float32")',
            "DTYPES is 'float32', expected a tuple of strings",
        ),
        ('("n",)', '"n"', "SIZES is 'n', expected a tuple of strings"),
    ],
)
def test_slip_in_a_name_or_a_tuple_is_one_error(loaded, old, new, error):
    with pytest.raises(ContractError) as raised:
        loaded(old, new)
    assert str(raised.value) == f"{NAME}: {error}"


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ('{"z": np.zeros(4)}', "z, expected x"),
        ('{"x": np.zeros((4, 1))}', "x of shape (4, 1), expected (4,)"),
    ],
)
def test_inputs_are_blamed_before_the_oracle(loaded, inputs, error):
    operation = loaded(
        'return {"x": GENERATORS', f"return {inputs}\n    {{'x': GENERATORS"
    )
    case = Case(generator="wide", seed=19, sizes={"n": 4})
    with pytest.raises(ContractError) as raised:
        operation.expected(operation.inputs(case), case.sizes)
    assert str(raised.value) == f"{NAME}: inputs gives {error}"


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_integer_that_reads_as_unwritten_is_no_result(loaded, dtype):
    """Poison is -1 in int32: an element that was never written must not be right."""
    operation = loaded(
        "SCALARS = {}", f'SCALARS = {{}}\nOPERAND_DTYPES = {{"y": "{dtype}"}}'
    )
    poison = np.full(4, 0xFF, np.uint8).view(dtype)
    below = replace(operation, oracle=lambda *_: {"y": poison.astype(np.float64)})
    with pytest.raises(ContractError) as raised:
        below.expected({"x": np.zeros(1, np.float32)}, {"n": 1})
    assert str(raised.value) == (
        f"{NAME}: oracle gives y with all bits set, expected a value that can be told "
        "from an unwritten one"
    )
    right = Right(values=poison.astype(np.float64), magnitude=np.ones(1), dtype=dtype)
    assert judged(poison, right, EXACT).unwritten == 1


def test_operands_are_of_the_dtype_of_the_claim_or_of_their_own():
    half = operations.load(ROOT, "row_sum", "float16")
    case = Case(generator="ordinary", seed=3, sizes={"rows": 2, "cols": 8})
    assert half.inputs(case)["x"].dtype == np.float16
    assert half.useful_bytes(case.sizes) == 2 * (16 + 2)
    gather = operations.load(ROOT, "gather")
    assert (gather.dtype_of("table"), gather.dtype_of("index")) == ("float32", "int32")
