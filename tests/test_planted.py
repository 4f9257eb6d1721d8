"""Every planted fault is found at its line, every clean kernel is clean."""

import numpy as np
import pytest

from fivegates.checking import derive_address
from fivegates.constructs import unsupported
from fivegates.headers import include_folder
from host_runs import ROOT, checked, compilers, values
from planted import PLANTED

COMPILERS = compilers()
ZIG = ("triad", "recurrent")
BY_NAME = {kernel.name: kernel for kernel in PLANTED}
CHECKS_OF = {kernel.check for kernel in PLANTED if kernel.check}


def fault_lines(kernel):
    text = (ROOT / kernel.path).read_text()
    return {n for n, line in enumerate(text.splitlines(), 1) if "// FAULT" in line}


def cases():
    for family, compiler in COMPILERS.items():
        for kernel in PLANTED:
            if family == "zig" and not kernel.name.startswith(ZIG):
                continue
            missing = f"no {family} on this machine" if compiler is None else None
            if kernel.headers and include_folder() is None:
                missing = "NVIDIA's headers are not installed (extra host)"
            mark = pytest.mark.skipif(missing is not None, reason=str(missing))
            name = f"{family}-{kernel.name}"
            yield pytest.param(family, kernel, id=name, marks=[mark])


@pytest.mark.parametrize(("family", "kernel"), list(cases()))
def test_kernel_is_judged_right(family, kernel):
    found = checked(COMPILERS[family], kernel)
    marked = fault_lines(kernel)
    if kernel.check is None:
        assert found.all == []
        assert found.runs[0]["exit_status"] == 0
        assert not marked
        return
    levels = {(f["check"], f["level"]) for f in found.all}
    assert (kernel.check, kernel.level.capitalize()) in levels
    assert {f["line"] for f in found.all} <= marked
    assert {f["file"] for f in found.all} == {kernel.path}
    assert found.runs[0]["exit_status"] == (99 if kernel.level == "error" else 0)


def test_every_check_has_planted_kernels_and_clean_ones():
    assert {"memcheck", "racecheck", "initcheck", "synccheck", "undefined"} == CHECKS_OF
    assert sum(kernel.check is None for kernel in PLANTED) >= 40
    assert sum(kernel.check is not None for kernel in PLANTED) >= 40


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "inclusive_guard",
            "invalid read of size 4, 0 bytes behind x of 4108 bytes",
        ),
        ("left_of_first", "invalid read of size 4, 4 bytes before x of 400 bytes"),
        (
            "vec4_misaligned",
            "misaligned access of size 16, x, offset 4",
        ),
        (
            "recurrent_single_buffer",
            "race, WAR on shared h: written here, read at line 13 by thread (0,0,0), "
            "nothing orders the two",
        ),
        (
            "cross_block_sum",
            "race, RAW on global total: read here, written at line 5 by thread (0,0,0) "
            "of block (0,0,0), nothing orders the two",
        ),
        ("shared_last_unset", "uninitialised read of size 4, shared tile, offset 508"),
        (
            "barrier_in_each_arm",
            "threads of one block wait at different barriers, the other is at line 10, "
            "thread (1,0,0)",
        ),
        ("local_array_overrun", "index outside its array"),
    ],
)
def test_finding_says_what_who_and_where(name, text):
    found = checked(COMPILERS["gcc"], BY_NAME[name])
    assert text in [f["text"] for f in found.all]


def test_racy_recurrence_is_refused_and_its_double_buffered_version_passes():
    """On an H200 the racy one gave right values 20 times of 20: docs/host.md."""
    racy = checked(COMPILERS["gcc"], BY_NAME["recurrent_single_buffer"])
    assert {f["check"] for f in racy.all} == {"racecheck"}
    assert checked(COMPILERS["gcc"], BY_NAME["recurrent_double_buffer"]).all == []


def test_table_and_folder_hold_the_same_kernels():
    listed = {kernel.path for kernel in PLANTED}
    others = {"triad_inclusive_guard", "overrun_133", "shared_race_in_warp"}
    others |= {"exchange_unsynced", "scan_in_place", "stencil_in_place", "compaction"}
    others |= {"triad_lazy", "triad_counting", "triad_memo", "recurrent_one_barrier"}
    for path in (ROOT / "tests/kernels").glob("*.cu"):
        assert f"tests/kernels/{path.name}" in listed or path.stem in others
        assert unsupported(path.read_text()) is None


def test_findings_of_one_place_are_counted_not_repeated():
    found = checked(COMPILERS["gcc"], BY_NAME["int_overflow"])
    (finding,) = found.all
    log = found.logs["checked.jsonl"].decode()
    assert log.count("\n") == 1
    assert finding["text"] == "signed integer overflow in a product"


def test_verdict_is_the_same_every_time():
    kernel = BY_NAME["histogram_plain"]
    one, two = (checked(COMPILERS["gcc"], kernel).logs for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    "name", [kernel.name for kernel in PLANTED if kernel.check == "memcheck"]
)
def test_address_sanitizer_agrees_on_memory(name):
    """But for alignment, atomics, variables, and what lies far past a buffer."""
    compiler = COMPILERS["gcc"]
    if compiler is None or not compiler.has_address_sanitizer:
        pytest.skip("this g++ has no AddressSanitizer")
    blind = {"vec4_misaligned", "atomic_past_end", "far_past_end"}
    blind |= {"pointer_past_shared"}
    found = checked(compiler, BY_NAME[name], "checked", "address")
    assert found.runs[0]["reports"] > 0
    if name not in blind:
        text = found.logs["address.txt"].decode()
        assert derive_address(text, found.runs[1])["errors"] > 0


REFERENCED = [kernel for kernel in PLANTED if kernel.reference is not None]


@pytest.mark.parametrize("kernel", REFERENCED, ids=lambda kernel: kernel.name)
def test_clean_kernel_gives_right_values(kernel, tmp_path):
    if kernel.headers and include_folder() is None:
        pytest.skip("NVIDIA's headers are not installed (extra host)")
    found = values(COMPILERS["gcc"], kernel, tmp_path)
    for name, right in kernel.reference(kernel.inputs).items():
        np.testing.assert_allclose(found[name], right, rtol=1e-5, atol=1e-6)
