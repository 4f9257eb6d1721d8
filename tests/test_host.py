"""The host backend: the same source, compiled and run on the CPU."""

from pathlib import Path

import numpy as np
import pytest

from fivegates.backend import Backend
from fivegates.building import build
from fivegates.checked_run import checker
from fivegates.claim import cases
from fivegates.constructs import foreign_include, unsupported
from fivegates.contract import Case
from fivegates.errors import ClaimError
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.host.build import compile_runner, find_compiler
from fivegates.record import Reason
from fivegates.sanitizer import derive, judge
from fivegates.trial import control_job, job, one_case_of_each_size

ROOT = Path(__file__).parents[1]
SIGNATURE = (
    'extern "C" __global__ void own(const float* x, const float* z, float* y, '
    "size_t n, float alpha)"
)
INDEX = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; if (i >= n) return;"


def case(n):
    return Case(generator="lab", seed=7, sizes={"n": n})


@pytest.fixture
def launched(claim, triad, tmp_path):
    """Launch a kernel's text on cases, in the baseline's grid unless told otherwise."""

    def launch(text, entry, chosen, *, role="baseline", timeout_s=60.0):
        binary = compile_runner(
            find_compiler(), text, name="own.cu", entry=entry, flavour="plain"
        )
        trial = job(claim, triad, role, chosen, entry=entry, launches=3, poison=True)
        prepare(tmp_path, trial, binary, map(triad.inputs, chosen))
        return exercise("host", tmp_path, trial, timeout_s)

    return launch


@pytest.fixture
def own(launched):
    """Launch a kernel with this body, for n = 257."""

    def launch(body, sizes=(257,), **options):
        text = f"{SIGNATURE} {{ {body} }}"
        return launched(text, "own", [case(n) for n in sizes], **options)

    return launch


@pytest.mark.parametrize(
    ("source", "entry", "role"),
    [
        ("kernels/triad/scalar.cu", "triad_scalar", "baseline"),
        ("kernels/triad/vec4.cu", "triad_vec4", "candidate"),
    ],
)
def test_triad_is_bit_exact_with_a_rounded_oracle(
    launched, claim, triad, tmp_path, source, entry, role
):
    """fmaf is exact on the CPU as on the device."""
    chosen = [c for c in cases(claim, triad) if c.sizes["n"] < 1000]
    found = launched((ROOT / source).read_text(), entry, chosen, role=role)
    assert not found.timed_out
    for report, checked in zip(found.cases, chosen, strict=True):
        expected = triad.oracle(triad.inputs(checked), checked.sizes)["y"]
        for actual in read_outputs(tmp_path, report, "y", "float32"):
            assert np.array_equal(actual, expected.astype(np.float32))
        assert report.variants == (() if checked.sizes["n"] == 0 else (0, 0, 0))
        assert report.changed_inputs == ()


def test_skipped_store_leaves_poison(own, tmp_path):
    """corpus A14"""
    found = own(INDEX + "if (i % 4096 != 7) y[i] = x[i];")
    (actual,) = read_outputs(tmp_path, found.cases[0], "y", "float32")
    assert np.flatnonzero(np.isnan(actual)).tolist() == [7]


def test_changed_input_is_reported(own):
    """corpus E03"""
    found = own(INDEX + "y[i] = 0; const_cast<float*>(z)[i] = 0;")
    assert found.cases[0].changed_inputs == ("z",)


def test_kernel_that_differs_from_itself_has_variants(own):
    """corpus E04: the answer of a later call is not that of the first."""
    found = own("static int calls = 0; ++calls;" + INDEX + "y[i] = calls;")
    assert found.cases[0].variants == (0, 1, 2)


def test_crash_costs_its_case_and_not_the_next(own):
    body = INDEX + "if (n == 256) __builtin_trap(); y[i] = 1;"
    found = own(body, sizes=(255, 256, 257, 1))
    assert [(c.index, c.error) for c in found.cases] == [
        (0, None),
        (1, "process ended by SIGILL"),
        (2, None),
        (3, None),
    ]


def test_hang_is_ended_with_its_process_group(own):
    """corpus B02"""
    found = own("for (volatile int k = 1; k;) {}", timeout_s=0.5)
    assert found.timed_out
    assert found.cases == ()


def test_wrong_number_of_arguments_is_one_error(launched):
    text = 'extern "C" __global__ void own(float* y) { y[0] = 1; }'
    with pytest.raises(ClaimError) as error:
        launched(text, "own", [case(1)])
    assert str(error.value) == "5 are passed, the kernel takes 1"


def test_argument_of_another_size_is_one_error(launched):
    text = SIGNATURE.replace("size_t n", "int n") + "{}"
    with pytest.raises(ClaimError) as error:
        launched(text, "own", [case(1)])
    assert str(error.value) == "[3] is uint64 of 8 bytes, the kernel takes 4"


def sanitized(claim, triad, source, entry):
    """Verdict of the host's memcheck on the candidate's launch of this kernel."""
    check = checker("host", "memcheck", claim.policy.sanitizer)
    chosen = one_case_of_each_size(claim, triad)
    trial = job(claim, triad, "candidate", chosen, entry=entry, launches=1, poison=True)
    binary = compile_runner(
        find_compiler(),
        (ROOT / source).read_text(),
        name=source,
        entry=entry,
        flavour="sanitized",
    )
    measured, logs = check.run("memcheck", trial, binary, map(triad.inputs, chosen))
    texts = {name: data.decode() for name, data in logs.items()}
    (derived,) = derive("host", "memcheck", [measured], texts)
    return judge(derived)


def test_inclusive_guard_is_refused_at_its_line(freeze, document, triad):
    document["candidate"] |= {
        "entry": "triad_inclusive_guard",
        "grid": ["ceil_div(n, 256)"],
    }
    source = "tests/kernels/triad_inclusive_guard.cu"
    verdict = sanitized(freeze(document), triad, source, "triad_inclusive_guard")
    assert verdict.status == "fail"
    assert verdict.message == (
        '3 errors, "heap-buffer-overflow, READ of size 4" in triad_inclusive_guard at '
        "tests/kernels/triad_inclusive_guard.cu:9 block (0,0,0) thread (1,0,0)"
    )


def test_undefined_behavior_is_refused_at_its_line(claim):
    """The host's memcheck holds both sanitizers, and its controls hold both faults."""
    check = checker("host", "memcheck", claim.policy.sanitizer)
    source = "kernels/controls/undefined.cu"
    binary = compile_runner(
        find_compiler(),
        (ROOT / source).read_text(),
        name=source,
        entry="control_undefined",
        flavour="sanitized",
    )
    measured, logs = check.run(
        "undefined", control_job("control_undefined", poison=True), binary, [{}]
    )
    texts = {name: data.decode() for name, data in logs.items()}
    (derived,) = derive("host", "memcheck", [measured], texts)
    verdict = judge(derived)
    assert (verdict.status, verdict.reason) == ("fail", Reason.UNDEFINED_BEHAVIOR)
    assert verdict.message == (
        '1 error, "signed integer overflow: 101 + 2147483547 cannot be represented in '
        "type 'int'\" in control_undefined at kernels/controls/undefined.cu:5 "
        "block (0,0,0) thread (101,0,0)"
    )


def test_clean_arm_is_clean(claim, triad):
    verdict = sanitized(claim, triad, "kernels/triad/vec4.cu", "triad_vec4")
    assert (verdict.status, verdict.message) == ("pass", "0 errors")


def test_source_that_does_not_compile_is_one_error():
    with pytest.raises(ClaimError) as error:
        compile_runner(
            find_compiler(),
            '\nextern "C" __global__ void k(float* y) { y[0] = undeclared; }',
            name="kernels/triad/bad.cu",
            entry="k",
            flavour="plain",
        )
    assert str(error.value) == (
        "kernels/triad/bad.cu: does not compile for the host: "
        "kernels/triad/bad.cu:2:49: error: 'undeclared' was not declared in this scope"
    )


def test_entry_that_does_not_exist_is_one_error():
    source = (ROOT / "kernels/triad/vec4.cu").read_text()
    with pytest.raises(ClaimError) as error:
        compile_runner(
            find_compiler(),
            source,
            name="kernels/triad/vec4.cu",
            entry="triad_vec5",
            flavour="plain",
        )
    assert str(error.value) == (
        "kernels/triad/vec4.cu: no kernel for entry 'triad_vec5', expected a "
        "__global__ function of that name: entry:1:18: error: 'triad_vec5' was not "
        "declared in this scope; did you mean 'triad_vec4'?"
    )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('#include "a.cuh"\n', '#include "a.cuh" at line 1'),
        ("\n # include </tmp/a.cuh>", "# include </tmp/a.cuh> at line 2"),
        ("#include <../a.cuh>", "#include <../a.cuh> at line 1"),
        ("#include HEADER", "#include HEADER at line 1"),
        ("#include <cuda_fp16.h>\n#include <cooperative_groups/reduce.h>", None),
        ('// #include "a.cuh"', None),
    ],
)
def test_arm_is_one_file(source, found):
    assert foreign_include(source) == found


def test_include_of_a_file_that_nobody_pins_is_refused(claim):
    host = Backend(kind="host", device=None, platform="Linux", packages={})
    with pytest.raises(ClaimError) as error:
        build(host, '#include "b.cuh"\n', name="k/a.cu", entry="own", options=[])
    assert str(error.value) == (
        'k/a.cu: #include "b.cuh" at line 1, '
        "expected one file with <...> headers of the toolkit"
    )


@pytest.mark.parametrize("kind", ["__device__", 'extern "C"', "static inline"])
def test_function_that_is_not_global_is_no_entry(kind):
    host = Backend(kind="host", device=None, platform="Linux", packages={})
    text = f"{kind} void helper(float* y) {{}}\n__global__ void own(float* y) {{}}"
    with pytest.raises(ClaimError) as error:
        build(host, text, name="k/a.cu", entry="helper", options=[])
    assert str(error.value) == "k/a.cu: 'helper' is not __global__, expected a kernel"
    assert build(host, text, name="k/a.cu", entry="own", options=[]).binaries


def test_macros_of_the_claim_select_the_same_code_as_on_a_device():
    host = Backend(kind="host", device=None, platform="Linux", packages={})
    text = "#ifndef WIDE\n#error narrow\n#endif\n__global__ void own(float* y) {}"
    with pytest.raises(ClaimError, match="error narrow"):
        build(host, text, name="k/a.cu", entry="own", options=["--std=c++17"])
    assert build(host, text, name="k/a.cu", entry="own", options=["-DWIDE=1"]).binaries


def test_overrun_that_breaks_no_allocator_is_left_to_gate_2(own):
    """n = 2 mod 4: the store behind the end would hit what malloc keeps there."""
    body = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;"
    found = own(body + "if (i <= n) y[i] = x[i];", sizes=(1002, 1003, 254))
    assert [case.error for case in found.cases] == [None, None, None]


def test_process_that_dies_behind_its_last_answer_costs_that_case(own):
    body = "static struct S { ~S() { __builtin_trap(); } } s;" + INDEX + "y[i] = 1;"
    found = own(body, sizes=(255, 257))
    assert [c.error for c in found.cases][-1] is not None


def test_intrinsics_that_change_no_value_run_on_the_host(own, tmp_path):
    body = (
        INDEX + "__stcs(&y[i], __fmaf_rn(alpha, __ldg(&x[i]), __ldcs(&z[min(i, n)])));"
    )
    found = own(body)
    (actual,) = read_outputs(tmp_path, found.cases[0], "y", "float32")
    assert np.isfinite(actual).all()


def test_template_is_an_entry():
    text = "template <int N> __global__ void scale(float* y) { y[0] = N; }"
    assert compile_runner(
        find_compiler(), text, name="own.cu", entry="scale<4>", flavour="plain"
    )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("__global__ void k() { __shared__ float a[4]; }", "__shared__ at line 1"),
        ("\n\nvoid k() {\n  __syncthreads();\n}", "__syncthreads at line 4"),
        ("/* __shared__ \n*/\n__syncwarp();", "__syncwarp at line 3"),
        ("v = __shfl_down_sync(m, v, 1);", "__shfl_down_sync at line 1"),
        ("atomicAdd(&y[0], 1.0f);", "atomicAdd at line 1"),
        ('asm("mov");', "asm at line 1"),
        ("// __shared__ and atomicAdd\nint k;", None),
        ("int my__shared__name, atomic, masm;", None),
    ],
)
def test_construct_that_the_host_lacks_is_named_before_it_runs(source, found):
    assert unsupported(source) == found


def test_project_kernels_run_on_the_host():
    for path in (ROOT / "kernels/triad").glob("*.cu"):
        assert unsupported(path.read_text()) is None
