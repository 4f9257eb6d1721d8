"""The host backend: the same source, compiled and run on the CPU."""

from pathlib import Path

import numpy as np
import pytest

from fivegates.backend import Backend
from fivegates.building import build
from fivegates.claim import cases
from fivegates.constructs import (
    fast_intrinsics,
    foreign_include,
    hidden_construct,
    unsupported,
)
from fivegates.contract import Case
from fivegates.errors import ClaimError
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.headers import include_folder
from fivegates.host.build import compile_arm
from fivegates.host.compiler import find_compiler
from fivegates.host.device_compile import available
from fivegates.host.folder import write_host_file
from fivegates.host.image import plain_name, shared_names, variables
from fivegates.job import SHARED_FILLS
from fivegates.preflight import ORDERS, derive, judge, sweep
from fivegates.trial import job

ROOT = Path(__file__).parents[1]
HOST = Backend(kind="host", device=None, platform="Linux", packages={})
SIGNATURE = (
    'extern "C" __global__ void own(const float* x, const float* z, float* y, '
    "size_t n, float alpha)"
)
INDEX = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; if (i >= n) return;"


def case(n):
    return Case(generator="lab", seed=7, sizes={"n": n})


def compiled(text, *, name="k/own.cu", entry="own", flavour="values"):
    built = compile_arm(
        find_compiler(), text, name=name, entry=entry, chosen=(flavour,)
    )
    assert built.refused is None
    return built.images[flavour]


@pytest.fixture
def launched(claim, triad, tmp_path):
    """Launch a kernel's text on cases, in the baseline's grid unless told otherwise."""

    def launch(text, entry, chosen, *, role="baseline", timeout_s=60.0, launches=3):
        image = compiled(text, entry=entry)
        trial = job(
            claim, triad, role, chosen, entry=entry, launches=launches, poison=True
        )
        prepare(tmp_path, trial, image, map(triad.inputs, chosen))
        write_host_file(tmp_path, image, text, mode="values")
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
    assert len(set(found.cases[0].variants)) == 3


def test_order_of_execution_is_swept(own):
    """A value that depends on who came last differs between the orders."""
    body = "__shared__ int last; last = threadIdx.x; __syncthreads();"
    found = own(body + INDEX + "y[i] = last;", launches=ORDERS)
    variants = found.cases[0].variants
    assert len(variants) == ORDERS
    assert len(set(variants)) >= 30


def test_order_of_blocks_is_swept(own):
    body = "static int turn = 0; if (threadIdx.x == 0) ++turn;"
    found = own(
        f"__shared__ int m; {body} m = turn; __syncthreads(); {INDEX} y[i] = m;",
        sizes=(2570,),
        launches=2,
    )
    assert found.cases[0].variants == (0, 1)


def test_shared_memory_is_filled_before_each_block(own, tmp_path):
    body = "__shared__ float tile[256]; float old = tile[threadIdx.x];"
    text = f"{body} tile[threadIdx.x] = 1; {INDEX} y[i] = old;"
    (report,) = own(text, sizes=(600,), launches=5).cases
    assert report.variants == (0, 1, 2, 3, 0)
    outputs = read_outputs(tmp_path, report, "y", "float32")
    for y, byte in zip(outputs, SHARED_FILLS, strict=True):
        assert (y.view(np.uint8) == byte).all()


@pytest.mark.parametrize("function", ["fmaxf", "fminf"])
def test_no_fill_of_shared_memory_is_neutral_to_a_reduction(own, function):
    """NaN alone would be: a maximum leaves it out."""
    body = f"__shared__ float tile[256]; {INDEX} y[i] = "
    (report,) = own(f"{body} {function}(tile[threadIdx.x], x[i]);").cases
    assert len(set(report.variants)) > 1


def test_crash_costs_its_case_and_not_the_next(own):
    body = INDEX + "if (n == 256) __builtin_trap(); y[i] = 1;"
    found = own(body, sizes=(255, 256, 257, 1))
    assert [(c.index, c.error) for c in found.cases] == [
        (0, None),
        (1, "process ended by SIGILL"),
        (2, None),
        (3, None),
    ]


def test_trap_is_told_with_its_thread(own):
    found = own(INDEX + "if (i == 200) __trap(); y[i] = 1;")
    assert found.cases[0].error == "trap by thread (200,0,0) of block (0,0,0)"


def test_deadlock_ends_at_once_and_says_who_waits(own):
    body = "if (threadIdx.x == 3) __syncwarp(); else __syncthreads();" + INDEX
    found = own(body + "y[i] = 1;")
    assert found.cases[0].error == (
        "deadlock in block (0,0,0): thread (3,0,0) waits in a warp operation, thread "
        "(0,0,0) in a barrier"
    )


def test_illegal_address_is_an_error_of_its_case(own):
    found = own(INDEX + "y[i + (size_t(1) << 40)] = 1;", sizes=(257, 1))
    assert [c.error for c in found.cases] == ["segmentation fault"] * 2


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


def test_source_that_does_not_compile_is_one_error():
    with pytest.raises(ClaimError) as error:
        compiled(
            '\nextern "C" __global__ void k(float* y) { y[0] = undeclared; }',
            name="kernels/triad/bad.cu",
            entry="k",
        )
    assert str(error.value) == (
        "kernels/triad/bad.cu: does not compile for the host: "
        "kernels/triad/bad.cu:2: error: 'undeclared' was not declared in this scope"
    )


def test_entry_that_does_not_exist_is_one_error():
    source = (ROOT / "kernels/triad/vec4.cu").read_text()
    with pytest.raises(ClaimError) as error:
        compiled(source, name="kernels/triad/vec4.cu", entry="triad_vec5")
    assert str(error.value).startswith(
        "kernels/triad/vec4.cu: no kernel for entry 'triad_vec5', expected a "
        "__global__ function of that name: entry:1: error: "
    )


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('#include "a.cuh"\n', '#include "a.cuh" at line 1'),
        ("\n # include </tmp/a.cuh>", "#include </tmp/a.cuh> at line 2"),
        ("#include <../a.cuh>", "#include <../a.cuh> at line 1"),
        ("#include HEADER", "#include HEADER at line 1"),
        ("#include <cuda_fp16.h>\n#include <cooperative_groups/reduce.h>", None),
        ('// #include "a.cuh"', None),
    ],
)
def test_arm_is_one_file(source, found):
    assert foreign_include(source) == found


@pytest.mark.skipif(include_folder() is None, reason="no CUDA headers (extra host)")
def test_constants_of_the_toolkit_are_those_that_a_device_has():
    source = (
        "#include <math_constants.h>\n"
        "static_assert(CUDART_PI_F > 3.14f);\n"
        "__global__ void own(float* y) { *y = -CUDART_INF_F; }"
    )
    assert unsupported(source) is None
    built = compile_arm(
        find_compiler(),
        source,
        name="k/a.cu",
        entry="own",
        chosen=("values",),
        headers=include_folder(),
    )
    assert built.refused is None


def test_include_of_a_file_that_nobody_pins_is_refused():
    with pytest.raises(ClaimError) as error:
        build(HOST, '#include "b.cuh"\n', name="k/a.cu", entry="own", options=[])
    assert str(error.value) == (
        'k/a.cu: #include "b.cuh" at line 1, '
        "expected one file with <...> headers of the toolkit"
    )


@pytest.mark.parametrize("kind", ["__device__", 'extern "C"', "static inline"])
def test_function_that_is_not_global_is_no_entry(kind):
    text = f"{kind} void helper(float* y) {{}}\n__global__ void own(float* y) {{}}"
    with pytest.raises(ClaimError) as error:
        build(HOST, text, name="k/a.cu", entry="helper", options=[])
    assert str(error.value) == "k/a.cu: 'helper' is not __global__, expected a kernel"
    assert build(
        HOST, text, name="k/a.cu", entry="own", options=[], control=True
    ).binaries


def test_macros_of_the_claim_select_the_same_code_as_on_a_device():
    text = "#ifndef WIDE\n#error narrow\n#endif\n__global__ void own(float* y) {}"
    with pytest.raises(ClaimError, match="narrow"):
        build(HOST, text, name="k/a.cu", entry="own", options=["--std=c++17"])
    assert build(HOST, text, name="k/a.cu", entry="own", options=["-DWIDE=1"]).binaries


@pytest.mark.skipif(available() is None, reason="NVRTC is not installed (extra host)")
def test_source_that_no_device_takes_is_refused_though_the_host_takes_it():
    text = "\n__global__ void own(float* y) { y[0] = FLT_MAX; }"
    assert compiled(text)
    with pytest.raises(ClaimError) as error:
        build(HOST, text, name="k/a.cu", entry="own", options=[])
    assert str(error.value) == (
        "k/a.cu: does not compile for compute_80: k/a.cu(2): error: "
        'identifier "FLT_MAX" is undefined'
    )


@pytest.mark.skipif(available() is None, reason="NVRTC is not installed (extra host)")
def test_construct_that_only_a_device_takes_is_not_run_and_no_error():
    text = "__global__ void own(float* y) { y[0] = __vadd4(1, 2); }"
    found = build(HOST, text, name="k/a.cu", entry="own", options=[])
    assert found.binaries == {}
    assert "'__vadd4' was not declared in this scope" in found.host["refused"]
    targets = found.host["device_compiler"]["targets"]
    assert targets == ["compute_80", "compute_90", "compute_100"]


def test_overrun_that_breaks_no_allocator_is_left_to_gate_2(own):
    """n = 2 mod 4: the store behind the end would hit what malloc keeps there."""
    body = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;"
    found = own(body + "if (i <= n) y[i] = x[i];", sizes=(1002, 1003, 254))
    assert [case.error for case in found.cases] == [None, None, None]


def test_intrinsics_that_change_no_value_run_on_the_host(own, tmp_path):
    body = (
        INDEX + "__stcs(&y[i], __fmaf_rn(alpha, __ldg(&x[i]), __ldcs(&z[min(i, n)])));"
    )
    found = own(body)
    (actual,) = read_outputs(tmp_path, found.cases[0], "y", "float32")
    assert np.isfinite(actual).all()


def test_template_is_an_entry():
    text = "template <int N> __global__ void scale(float* y) { y[0] = N; }"
    assert compiled(text, entry="scale<4>")


def test_build_of_one_source_has_the_same_bytes_every_time():
    text = (ROOT / "kernels/triad/vec4.cu").read_text()
    for flavour in ("values", "checked"):
        one, two = (
            compiled(text, entry="triad_vec4", flavour=flavour) for _ in range(2)
        )
        assert one == two


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('asm("mov");', "asm at line 1"),
        ("\n\nusing namespace nvcuda;", "nvcuda at line 3"),
        ("/* asm \n*/\nwmma::fragment f;", "wmma::fragment at line 3"),
        (
            "auto g = cooperative_groups::this_grid();",
            "cooperative_groups::this_grid at line 1",
        ),
        ("kernel<<<1, 2>>>();", "<<< at line 1"),
        ("tex1Dfetch<float>(t, 0);", "tex1Dfetch at line 1"),
        ("cuda::barrier<x> b;", "cuda::barrier at line 1"),
        ("__pipeline_memcpy_async(a, b, 4);", "__pipeline_memcpy_async at line 1"),
        ("#include <cub/cub.cuh>", "#include <cub/cub.cuh> at line 1"),
        (
            "#pragma GCC visibility push(hidden)",
            "#pragma GCC visibility push(hidden) at line 1",
        ),
        ("#pragma unroll 4\n#pragma unroll(2)\n", None),
        ("#define N 4 \\\n + 1\n__shared__ float a[N];", None),
        ('printf("asm %d");', None),
        ("// asm and wmma\nint masm;", None),
        ("__shared__ float a[4]; __syncthreads(); atomicAdd(&a[0], 1.0f);", None),
    ],
)
def test_construct_that_the_host_lacks_is_named_before_it_runs(source, found):
    assert unsupported(source) == found


def test_project_kernels_run_on_the_host():
    for path in (ROOT / "kernels").glob("*/*.cu"):
        assert unsupported(path.read_text()) is None


def test_assembly_of_a_header_is_not_the_arms():
    text = '# 1 "/usr/include/a.h"\nasm("x");\n# 7 "/k/a.cu"\nint a;\nasm("y");\n'
    assert hidden_construct(text, "k/a.cu") == "asm at line 8"
    assert hidden_construct(text.replace('asm("y");', ""), "k/a.cu") is None


def test_fast_intrinsics_are_named():
    source = "y = __expf(x) + __fdividef(a, b) + expf(x); // __logf"
    assert fast_intrinsics(source) == ("__expf", "__fdividef")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__shared__ float a[4], b;", {"a", "b"}),
        ("__shared__ __align__(16) float tile[32][33];", {"tile"}),
        ("extern __shared__ float s[];", {"s"}),
        ("__shared__ Pair<float, int> p[2];", {"p"}),
        ("__shared__ union { float f[4]; int i[4]; } u;", {"u"}),
        ("__shared__ float a[N < 4 ? 4 : N], b[2][3];", {"a", "b"}),
        ("#define S(T, N) __shared__ T N[4]\nS(float, x);", {"#define"}),
        ("float plain[4];", set()),
    ],
)
def test_shared_variables_are_those_declared_so(source, names):
    assert shared_names(source) == names


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ8rnn_racyE1h", "h"),
        ("_ZL5table", "table"),
        ("launches", "launches"),
        ("_ZZN2ns4ownILi3EEvPfE4tile", "tile"),
        ("_ZZ3ownE4tile_0", "tile"),
        ("calls.0", "calls"),
        ("_ZZ4kernILi8EEvPfE1s", "s"),
    ],
)
def test_mangled_name_is_read_as_the_sources(symbol, name):
    assert plain_name(symbol) == name


def test_variables_of_an_image_are_shared_or_not():
    text = (
        "__device__ unsigned launches; __constant__ float table[4];\n"
        "__global__ void own(float* y) { __shared__ float tile[8]; static int calls;\n"
        "tile[threadIdx.x] = ++calls + launches + table[threadIdx.x];\n"
        "__syncthreads();\n"
        "y[0] = tile[7]; table[0] = 1; ++launches; }"
    )
    found = {v.name: (v.kind, v.size) for v in variables(compiled(text), text)}
    assert found == {
        "launches": ("static", 4),
        "table": ("static", 16),
        "tile": ("shared", 32),
        "calls": ("static", 4),
    }


def test_sweep_has_every_order_for_each_size():
    chosen = [case(1), case(257), case(257), case(1)]
    assert sweep(chosen) == [ORDERS, ORDERS, 2, 2]
    assert ORDERS >= 32


def headroom(*ratios, source=""):
    keys = ("tolerance_ratio", "contracted_tolerance_ratio")
    row = {**dict(zip(keys, ratios, strict=True)), "contraction_spread_ratio": 0.1}
    return derive({"host": {"cases": [row]}}, source)


@pytest.mark.parametrize(
    ("ratios", "status"),
    [
        ((0.1, 0.5), "pass"),
        ((0.5, 0.51), "inconclusive"),
        ((0.9, 0.1), "inconclusive"),
        ((None, None), "pass"),
    ],
)
def test_pass_needs_headroom_in_both_settings_of_contraction(ratios, status):
    verdict = judge(headroom(*ratios), "1 case")
    assert verdict.status == status
    if status == "inconclusive":
        largest = (
            f"errors reach {max(ratios):.2g} of the tolerance, expected at most 0.5"
        )
        assert verdict.message.startswith(largest)


def test_fast_intrinsics_make_numerics_not_representative():
    found = headroom(0.1, 0.1, source="y = __expf(x);")
    assert found["numerics"] == "not representative"
    assert judge(found, "1 case").message == (
        f"1 case, {ORDERS} orders; numerics not representative: __expf"
    )
