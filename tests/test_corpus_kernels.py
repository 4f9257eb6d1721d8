"""Parts A and B of the corpus, wrong kernels of public projects: the verdict on each.

Most are mutants of the catalogue's arms: `benchmarks/results/mutants.json` holds what
refused them on the host, `mutants_on_device/` beside it what did on a device, the
timeout of a hanging barrier among them. A04 past 2^31 elements needs a device:
tests/gpu. An entry that no input of ours can express is shown to have no way in.
"""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import mutation
from conftest import ROOT
from fivegates.claim import Tolerance, require_bound
from fivegates.comparison import compare, judged
from fivegates.constructs import unsupported
from fivegates.contract import Right
from fivegates.errors import ClaimError, ContractError
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.host.compiler import find_compiler
from fivegates.host.folder import write_host_file
from fivegates.impostors import accepted_impostors
from host_runs import checked, compiled, job_of
from planted import Planted, floats
from simulated import refusal_of, unknown

ROWS = {
    (row["operation"], row["mutant"]): row
    for row in json.loads((ROOT / "benchmarks/results/mutants.json").read_text())
}
ON_DEVICE = {
    row["source_sha256"]: row["refused_by"]
    for path in (ROOT / "benchmarks/results/mutants_on_device").iterdir()
    for row in json.loads(path.read_text())["rows"]
}
# B04: a lane that is not in its own mask. No tool of the device said so.
LET_THROUGH = (("row_sum", "member-mask-too-small"),)
ORDERS = 32


@pytest.mark.parametrize(
    ("entry", "operation", "mutant", "gate", "said"),
    [
        ("A01", "row_sum", "partial-block-dropped", "reference", "tolerance-exceeded"),
        ("A02", "triad", "tail-skipped", "reference", "right at n=0, n=256"),
        ("A02", "triad", "tail-overrun", "memcheck", "memory-error"),
        ("A03", "row_sum", "block-of-48", "reference", "tolerance-exceeded"),
        ("A04", "gather", "offset-of-16-bits", "reference", "tolerance-exceeded"),
        ("A06", "softmax", "nan-on-masked-row", "reference", "nonfinite-output"),
        ("A07", "softmax", "starts-at-sentinel", "reference", "tolerance-exceeded"),
        ("A07", "row_max", "starts-at-sentinel", "reference", "tolerance-exceeded"),
        ("A08", "layernorm", "one-pass-variance", "reference", "high: "),
        ("A09", "layernorm", "epsilon-dropped", "reference", "nonfinite-output"),
        ("A09", "rmsnorm", "epsilon-added-in-half", "reference", "scales: "),
        ("A10", "row_max", "nan-dropped", "reference", "ended: "),
        ("A10", "row_max", "starts-at-lowest-finite", "reference", "r=-inf"),
        ("A11", "row_sum", "half-accumulator-of-a-thread", "reference", "repeated: "),
        ("A11", "matmul", "half-accumulator", "reference", "tolerance-exceeded"),
        ("A11", "rmsnorm", "bfloat16-accumulator", "reference", "repeated: "),
        ("A12", "row_max", "compared-as-integers", "reference", "nonfinite-output"),
        ("A13", "transpose", "write-stride-cols", "reference", "different outputs"),
        ("A13", "transpose_views", "x-step-ignored", "reference", "unwritten-output"),
        ("A13", "transpose_views", "y-pitch-ignored", "reference", "unwritten-output"),
        ("A13", "transpose_views", "written-beside-rows", "reference", "beside the v"),
        ("A14", "triad", "every-4096th-stale", "reference", "unwritten-output"),
        ("A17", "triad", "two-cancelling-errors", "reference", "2 of 255 elements"),
        ("B02", "recurrent", "barrier-in-branch", "synccheck", "barrier-error"),
        ("B04", "row_sum", "member-mask-too-small", "synccheck", "barrier-error"),
        ("B10", "transpose", "warp-barrier-only", "racecheck", "race: "),
        ("B10", "matmul", "barrier-of-one-warp", "racecheck", "race: "),
    ],
)
def test_known_wrong_kernel_is_refused(entry, operation, mutant, gate, said):
    row = ROWS[operation, mutant]
    assert row["refused_by"] == gate, entry
    assert said in row["said"]
    on_device = ON_DEVICE.get(row["source_sha256"])
    if on_device is None:
        pytest.skip("no device has tried this edit yet")
    passed = on_device == mutation.SURVIVED
    assert passed == ((operation, mutant) in LET_THROUGH), entry


def of(operation, name):
    """One mutant of the catalogue."""
    (found,) = [m for m in mutation.mutants(operation) if m.name == name]
    return found


def test_a01_dropped_partial_block_names_the_sizes_that_hide_it():
    """Multiples of 16 pass; a portfolio of them alone would not have seen it."""
    said = mutation.tried(of("row_sum", "partial-block-dropped"))["said"]
    wrong, right = said.split("; wrong at ")[1].split(", right at ")
    assert "cols=1 rows=3" in wrong
    assert "cols=32 rows=3" in right
    assert "cols=1 " not in right


def test_a03_tree_that_needs_a_power_of_two_fails_in_another_block():
    """The launch is part of the claim: what passes with 64 threads fails with 48."""
    in_48 = of("row_sum", "block-of-48")
    assert mutation.tried(in_48)["refused_by"] == "reference"
    assert mutation.tried(replace(in_48, block=[64]))["refused_by"] == mutation.SURVIVED


def test_a05_launch_that_no_device_takes_is_no_claim():
    """A block of 2048 threads; what a driver refuses later is in tests/gpu."""
    claim = mutation.frozen("triad-vec4")
    huge = replace(claim.arms["candidate"], block=("2048",))
    operation = mutation.contract("triad", "float32")
    with pytest.raises(ClaimError) as error:
        require_bound(replace(claim, arms={**claim.arms, "candidate": huge}), operation)
    assert str(error.value) == (
        "candidate.block is ['2048']: 2048 threads, expected 1 to 1024"
    )


def test_a06_fate_of_a_masked_row_is_part_of_the_contract():
    """NaN where zeros are declared fails, and the other way; undeclared is an error."""
    tolerance = Tolerance(atol=0.0, rtol=1e-6)
    nan, zero = np.full(4, np.nan, np.float32), np.zeros(4, np.float32)
    assert compare(nan, np.zeros(4), tolerance).failures == 4
    assert compare(nan, np.full(4, np.nan), tolerance).failures == 0
    assert compare(zero, np.full(4, np.nan), tolerance).failures == 4
    operation = mutation.contract("softmax", "float32")
    strict = replace(
        operation, nonfinite="refused", oracle=lambda *_: {"y": np.full((1, 4), np.nan)}
    )
    arrays = {"x": np.zeros((1, 4), np.float32), "mask": np.zeros((1, 4), np.int32)}
    with pytest.raises(ContractError, match="is not finite"):
        strict.expected(arrays, {"rows": 1, "cols": 4})


def test_a12_sign_of_zero_counts_where_the_contract_says_so():
    """It is counted apart either way."""
    exact, minus = Tolerance(atol=0.0, rtol=0.0), np.float32([-0.0, 1.0])
    values = np.array([0.0, 1.0])
    found = compare(minus, values, exact)
    assert (found.failures, found.zero_signs) == (0, 1)
    right = Right(values=values, magnitude=values, signed_zero=True)
    found = judged(minus, right, exact)
    assert (found.failures, found.zero_signs, found.first_failure) == (1, 1, 0)


def test_a13_strides_have_no_way_into_a_claim_but_by_a_contract_of_views(document):
    """All other operands are contiguous and start where an allocation does."""
    for field in ("workload.strides", "baseline.strides", "candidate.offset"):
        changed = copy.deepcopy(document)
        assert unknown(refusal_of(changed, field, [2]), field)


@pytest.mark.parametrize("role", ["baseline", "candidate"])
def test_a15_no_elements_are_no_launch_and_no_error(role):
    claim = mutation.frozen("triad-vec4")
    operation = mutation.contract("triad", "float32")
    assert {0, 1, 257} <= {c.sizes["n"] for c in operation.cases({"n": 4099})}
    source = (ROOT / claim.arms[role].source).read_text()
    assert mutation.refused_by(claim, role, source, gates=False)[1] == ""


def test_a16_output_that_is_an_input_is_no_claim():
    claim = mutation.frozen("triad-vec4")
    arm = claim.arms["candidate"]
    aliased = replace(arm, arguments=("x", "z", "x", *arm.arguments[3:]))
    with pytest.raises(ClaimError) as error:
        require_bound(
            replace(claim, arms={**claim.arms, "candidate": aliased}),
            mutation.contract("triad", "float32"),
        )
    assert str(error.value) == (
        "candidate.arguments does not pass y, expected every output of the operation"
    )


def test_b01_racy_recurrence_is_called_a_race_and_not_rounding():
    claim = mutation.frozen("recurrent-one-barrier")
    source = (ROOT / claim.arms["candidate"].source).read_text()
    gate, said = mutation.refused_by(claim, "candidate", source)
    assert gate == "reference"
    assert said.startswith("nondeterministic-output: ")
    assert "look for a race" in said
    assert "round" not in said
    tool, hazards = mutation.checked(claim, "candidate", source)
    assert (tool, hazards.partition(":")[0]) == ("racecheck", "race")


@pytest.mark.parametrize(
    ("entry", "kernel", "checks"),
    [
        ("B03", "warp_tail_unsynced", {"racecheck"}),
        ("B04", "shuffle_after_exit", {"synccheck"}),
    ],
)
def test_fault_that_leaves_the_values_right_is_refused(entry, kernel, checks):
    from planted import PLANTED

    (found,) = [planted for planted in PLANTED if planted.name == kernel]
    assert {f["check"] for f in checked(find_compiler(), found).all} == checks, entry


def test_b05_barrier_of_the_whole_grid_is_not_run_on_the_host():
    """Whether blocks reach it equally often only a device can say, within its limit."""
    said = unsupported(
        "#include <cooperative_groups.h>\n"
        "__global__ void k() { cooperative_groups::this_grid().sync(); }"
    )
    assert said is not None
    assert "grid" in said


def exchange(active):
    return Planted(
        name="exchange_unsynced",
        inputs={"x": floats(64)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y", f"uint32 {active}"),
    )


def scan(width):
    return Planted(
        name="scan_in_place",
        block=(width, 1, 1),
        inputs={"x": floats(width)},
        outputs={"y": ("float32", width)},
        arguments=("x", "y"),
    )


def stencil(blocks):
    n = 64 * blocks
    return Planted(
        name="stencil_in_place",
        grid=(blocks, 1, 1),
        inputs={"x": floats(n)},
        outputs={"y": ("float32", n)},
        arguments=("x", "y", f"uint64 {n}"),
    )


def compaction():
    return Planted(
        name="compaction",
        grid=(16, 1, 1),
        inputs={"x": floats(1024), "count": np.zeros(1, np.uint32)},
        outputs={"y": ("float32", 1024)},
        arguments=("x", "y", "count", "uint64 1024"),
    )


def outputs(kernel, folder):
    """The distinct outputs of one kernel in 32 orders of execution."""
    image = compiled(find_compiler(), kernel, ("values",)).images["values"]
    trial = job_of(kernel, launches=ORDERS)
    prepare(folder, trial, image, [kernel.inputs])
    source = (ROOT / kernel.path).read_text()
    write_host_file(folder, image, source, mode="values")
    (report,) = exercise("host", folder, trial, 60).cases
    assert report.error is None
    return read_outputs(folder, report, "y", "float32")


@pytest.mark.parametrize("active", [48, 64])
def test_b06_exchange_between_warps_without_a_barrier(active, tmp_path):
    kernel = exchange(active)
    assert {f["check"] for f in checked(find_compiler(), kernel).all} >= {"racecheck"}
    assert len(outputs(kernel, tmp_path)) > 1


@pytest.mark.parametrize("width", [32, 33, 64])
def test_b07_scan_in_place_is_a_race_at_every_width(width):
    """A device calls it a warning up to 32, which is no pass; the host an error."""
    found = checked(find_compiler(), scan(width)).all
    assert {f["check"] for f in found} == {"racecheck"}


def test_b08_silence_of_every_tool_is_no_order():
    found = checked(find_compiler(), compaction()).all
    assert {f["check"] for f in found} <= {"initcheck"}


def test_b08_order_that_is_part_of_the_contract_is_kept_or_the_arm_is_refused():
    """The same arm: it passes as a multiset and says that launches differ."""
    claim = mutation.frozen("compact-block")
    source = (ROOT / claim.arms["baseline"].source).read_text()
    assert mutation.refused_by(claim, "baseline", source, gates=False)[1] == ""
    strict = replace(claim, order="fixed")
    said = mutation.refused_by(strict, "baseline", source, gates=False)[1]
    assert said.startswith("nondeterministic-output: ")


def test_b09_bound_of_an_atomic_sum_is_that_of_what_it_adds():
    """Nearly full cancellation: a share of the result means nothing."""
    draw = np.random.default_rng(5)
    half = draw.uniform(-1e4, 1e4, 1 << 15).astype(np.float32)
    x = np.concatenate([half, -half])
    x[0] += np.float32(55)
    right = x.astype(np.float64).sum()
    sums = [np.cumsum(draw.permutation(x), dtype=np.float32)[-1:] for _ in range(30)]
    assert len({float(total[0]) for total in sums}) > 1
    magnitude = np.array([np.abs(x.astype(np.float64)).sum()])
    bound = Tolerance(atol=0.0, rtol=16 * 2.0**-24)
    share = Tolerance(atol=0.0, rtol=1e-2)
    expected = np.array([right])
    assert not any(compare(s, expected, bound, magnitude).failures for s in sums)
    assert any(compare(s, expected, share).failures for s in sums)


@pytest.mark.parametrize("blocks", [64, 256])
def test_b13_race_between_blocks_shows_in_the_values(blocks, tmp_path):
    kernel = stencil(blocks)
    assert len(outputs(kernel, tmp_path)) > 1
    found = checked(find_compiler(), kernel).all
    assert "racecheck" in {f["check"] for f in found}


def test_b13_tolerance_of_a_fifth_is_refused_by_the_contract():
    values = np.random.default_rng(3).uniform(0, 0.3, 4096)
    right = {"y": Right(values=values, magnitude=np.abs(values))}
    assert "zeros for y" in accepted_impostors(right, Tolerance(atol=0.2, rtol=0.0))
