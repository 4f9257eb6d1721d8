"""Integer expressions over the sizes of a case: `ceil_div(n, 256)`, `4 * (n % 4)`.

An arm is data, so its grid is an expression and not code: only names of sizes,
integers, `+ - * // %` and the functions below are understood, nothing is evaluated.
"""

import ast
import operator
from collections.abc import Callable, Mapping

from fivegates.errors import ClaimError

EXPECTED = "an integer expression of sizes with + - * // %, ceil_div, min, max"

OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def ceil_div(dividend: int, divisor: int) -> int:
    """Divide, rounding up."""
    return -(-dividend // divisor)


FUNCTIONS: dict[str, Callable[..., int]] = {
    "ceil_div": ceil_div,
    "min": min,
    "max": max,
}


def evaluate(text: str, sizes: Mapping[str, int]) -> int:
    """Value of `text` for these sizes; ClaimError when it is not such an expression."""
    try:
        return _value(ast.parse(text, mode="eval").body, sizes)
    except (SyntaxError, TypeError, ValueError, ZeroDivisionError, RecursionError):
        known = ", ".join(sorted(sizes))
        raise ClaimError(f"{text!r}, expected {EXPECTED} (sizes: {known})") from None


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if (
            name in FUNCTIONS and len(args) == 2
        ):
            return FUNCTIONS[name](*(_value(arg, sizes) for arg in args))
    raise ValueError(ast.dump(node))
