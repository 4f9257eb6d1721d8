import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.errors import ClaimError
from fivegates.expression import evaluate

SIZES = {"n": 1_000_003, "m": 7}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256", 256),
        ("n", 1_000_003),
        ("ceil_div(n, 256)", 3907),
        ("ceil_div(n // 4 + n % 4, 256)", 977),
        ("-m + 2 * 3", -1),
        ("min(n, 5) + max(m, 9)", 14),
        ("ceil_div(0, 256)", 0),
    ],
)
def test_expression_has_its_value(text, value):
    assert evaluate(text, SIZES) == value


@given(st.integers(0, 2**40), st.integers(1, 4096))
def test_ceil_div_is_the_least_grid_that_covers(n, block):
    blocks = evaluate(f"ceil_div(n, {block})", {"n": n})
    assert (blocks - 1) * block < n <= blocks * block or n == blocks == 0


@pytest.mark.parametrize(
    "text",
    [
        "k",
        "n / 4",
        "n ** 9999",
        "1.5",
        "True",
        "n if n else 1",
        "ceil_div(n)",
        "ceil_div(n, b=2)",
        "__import__('os')",
        "n.__class__",
        "[n]",
        "",
        "n //",
        "n // 0",
        "(" * 500 + "n" + ")" * 500,
    ],
)
def test_anything_else_is_refused_with_what_was_expected(text):
    with pytest.raises(ClaimError) as error:
        evaluate(text, SIZES)
    assert str(error.value) == (
        f"{text!r}, expected an integer expression of sizes with + - * // %, "
        "ceil_div, min, max (sizes: m, n)"
    )
