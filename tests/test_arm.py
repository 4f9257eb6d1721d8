import pytest

from fivegates.arm import Argument, Arm, resolve
from fivegates.errors import ClaimError

OPERANDS = {"x": 0, "z": 12, "y": 0}
DECLARED = {
    "source": "kernels/triad/scalar.cu",
    "entry": "triad_scalar",
    "grid": ["ceil_div(n, 256)"],
    "block": [256],
    "arguments": ["x", "z", "y", "uint64 n", "float32 alpha"],
}


def resolved(n=257, **changes):
    arm = Arm.from_dict("candidate", {**DECLARED, **changes})
    return resolve(arm, sizes={"n": n}, operands=OPERANDS, scalars={"alpha": 1.25})


def test_launch_is_resolved_for_its_sizes():
    launch = resolved()
    assert launch.grid == (2, 1, 1)
    assert launch.block == (256, 1, 1)
    assert launch.dynamic_shared_bytes == 0
    assert launch.arguments[1:] == (
        Argument(kind="buffer", name="z", value=12),
        Argument(kind="buffer", name="y", value=None),
        Argument(kind="scalar", name="uint64", value=257),
        Argument(kind="scalar", name="float32", value=1.25),
    )


@pytest.mark.parametrize("text", ["2.5", "-1e-3", "1E30"])
def test_float_may_be_written_as_a_number(text):
    (argument,) = resolved(arguments=[f"float64 {text}"]).arguments
    assert argument.value == float(text)


def test_empty_case_launches_no_block():
    assert resolved(n=0).blocks == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"block": [32, 64]},
            "candidate.block is ['32', '64']: 2048 threads, expected 1 to 1024",
        ),
        ({"block": [0]}, "candidate.block is ['0']: 0 threads, expected 1 to 1024"),
        (
            {"grid": [1, 65536]},
            "candidate.grid is ['1', '65536']: 65536 blocks, expected 0 to 65535",
        ),
        (
            {"grid": ["n - 300"]},
            "candidate.grid is ['n - 300']: -43 blocks, expected 0 to 2147483647",
        ),
        (
            {"grid": ["ceil(n)"]},
            "candidate.grid[0] is 'ceil(n)', expected an integer expression of sizes "
            "with + - * // %, ceil_div, min, max (sizes: n)",
        ),
        (
            {"arguments": ["x", "w"]},
            "candidate.arguments[1] is 'w', expected an operand (x, z, y) or "
            "'<type> <value>' with a type of int32, uint32, int64, uint64, float32, "
            "float64",
        ),
        (
            {"arguments": ["size_t n"]},
            "candidate.arguments[0] is 'size_t n', expected an operand (x, z, y) or "
            "'<type> <value>' with a type of int32, uint32, int64, uint64, float32, "
            "float64",
        ),
        (
            {"arguments": ["uint64 k"]},
            "candidate.arguments[0] is 'k', expected an integer expression of sizes "
            "with + - * // %, ceil_div, min, max (sizes: n)",
        ),
        (
            {"block": [1, 1, 65]},
            "candidate.block is ['1', '1', '65'], expected extents of at least 1, the "
            "third at most 64",
        ),
        (
            {"block": [-1, -32]},
            "candidate.block is ['-1', '-32'], expected extents of at least 1, the "
            "third at most 64",
        ),
        (
            {"arguments": ["int32 alpha"]},
            "candidate.arguments[0] is 'int32 alpha': 1.25, expected an integer from "
            "-2147483648 to 2147483647",
        ),
        (
            {"arguments": ["uint32 n + 4294967296"]},
            "candidate.arguments[0] is 'uint32 n + 4294967296': 4294967553, "
            "expected an integer from 0 to 4294967295",
        ),
        (
            {"dynamic_shared_bytes": "-4"},
            "candidate.dynamic_shared_bytes is '-4': -4 bytes, expected at least 0",
        ),
        (
            {"dynamic_shared_bytes": "4 * k"},
            "candidate.dynamic_shared_bytes is '4 * k', expected an integer expression "
            "of sizes with + - * // %, ceil_div, min, max (sizes: n)",
        ),
    ],
)
def test_launch_that_cannot_be_is_refused_by_field(changes, message):
    with pytest.raises(ClaimError) as error:
        resolved(**changes)
    assert str(error.value) == message
