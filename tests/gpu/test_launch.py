"""What needs a device: NVRTC, loading, launching and losing a context."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fivegates.claim import cases
from fivegates.contract import Case
from fivegates.errors import ClaimError
from fivegates.exercise import exercise, prepare, read_outputs
from fivegates.job import SHARED_FILLS
from fivegates.trial import job

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]
SIGNATURE = (
    'extern "C" __global__ void own(const float* x, const float* z, float* y, '
    "size_t n, float alpha)"
)
INDEX = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; if (i >= n) return;"


def compiled(text, *, name="own.cu", entry="own"):
    from fivegates.device import identify
    from fivegates.launch import compile_source

    return compile_source(
        text,
        name=name,
        entry=entry,
        options=("--std=c++17",),
        architecture=identify().architecture,
    )


@pytest.fixture
def launched(claim, triad, tmp_path):
    def launch(text, chosen, *, entry="own", role="baseline", shared="0"):
        built = compiled(text, entry=entry)
        arm = replace(claim.arms[role], dynamic_shared_bytes=shared)
        own = replace(claim, arms={**claim.arms, role: arm})
        trial = job(
            own, triad, role, chosen, entry=built.symbol, launches=10, poison=True
        )
        prepare(tmp_path, trial, built.cubin, map(triad.inputs, chosen))
        return exercise("cuda", tmp_path, trial, 120)

    return launch


def sized(*sizes):
    return [Case(generator="lab", seed=7, sizes={"n": n}) for n in sizes]


def test_source_that_does_not_compile_is_one_error():
    with pytest.raises(ClaimError) as error:
        compiled("\n__global__ void own(float* y) { y[0] = INFINITY; }", name="k/a.cu")
    assert str(error.value) == (
        'k/a.cu: does not compile: k/a.cu(2): error: identifier "INFINITY" is undefined'
    )


def test_entry_that_does_not_exist_is_one_error():
    with pytest.raises(
        ClaimError, match=r"^own.cu: no kernel for entry 'owm', expected"
    ):
        compiled(f"{SIGNATURE} {{}}", entry="owm")


def test_template_is_an_entry():
    text = "template <int N> __global__ void scale(float* y) { y[0] = N; }"
    assert compiled(text, entry="scale<4>").symbol.startswith("_Z5scaleILi4E")


def test_one_source_gives_one_cubin_in_any_folder(tmp_path, monkeypatch):
    text = f"{SIGNATURE} {{ {INDEX} y[i] = x[i]; }}"
    first = compiled(text)
    monkeypatch.chdir(tmp_path)
    assert compiled(text).cubin == first.cubin


@pytest.mark.parametrize(
    ("arm", "role"), [("scalar", "baseline"), ("vec4", "candidate")]
)
def test_triad_is_bit_exact_with_a_rounded_oracle(
    root, launched, claim, triad, tmp_path, arm, role
):
    text = (ROOT / f"kernels/triad/{arm}.cu").read_text()
    chosen = cases(claim, triad)
    found = launched(text, chosen, entry=f"triad_{arm}", role=role)
    assert len(found.cases) == len(chosen)
    for report, case in zip(found.cases, chosen, strict=True):
        assert report.error is None
        assert report.changed_inputs == ()
        assert set(report.variants) <= {0}
        expected = triad.oracle(triad.inputs(case), case.sizes)["y"]
        for actual in read_outputs(tmp_path, report, "y", "float32"):
            assert np.array_equal(actual, expected.astype(np.float32))


def test_illegal_address_costs_its_case_and_not_the_next(root, launched):
    """corpus A04, A15: the error stays with the context, so the process is new."""
    body = INDEX + "if (n == 256) *(volatile float*)16 = 1; y[i] = 1;"
    found = launched(f"{SIGNATURE} {{ {body} }}", sized(255, 256, 257))
    errors = [case.error for case in found.cases]
    assert (errors[0], errors[2]) == (None, None)
    assert "cudaErrorIllegalAddress" in errors[1]


def test_launch_that_the_driver_refuses_is_an_error_of_its_case(root, launched, claim):
    """corpus A05: no output can be right that no launch wrote."""
    text = (
        f"{SIGNATURE.replace('void own', 'void __launch_bounds__(128) own')} "
        f"{{ {INDEX} y[i] = 1; }}"
    )
    found = launched(text, sized(257))
    assert found.cases[0].error is not None
    assert found.cases[0].variants == ()


def test_kernel_that_differs_from_itself_has_variants(root, launched):
    text = (
        f"__device__ int calls; {SIGNATURE} {{ {INDEX} "
        "y[i] = calls; if (i == 0) atomicAdd(&calls, 1); }"
    )
    found = launched(text, sized(1))
    assert found.cases[0].variants == tuple(range(10))


@pytest.mark.parametrize("n", [1, 257, 300_000])
@pytest.mark.parametrize(
    ("declared", "shared"),
    [
        ("__shared__ float unset[256];", "0"),
        ("extern __shared__ float space[]; float* unset = space + 50000;", "204800"),
    ],
)
def test_shared_memory_that_a_kernel_does_not_set_is_filled(
    root, launched, tmp_path, n, declared, shared
):
    text = f"{SIGNATURE} {{ {declared} {INDEX} y[i] = unset[threadIdx.x]; }}"
    report = launched(text, sized(n), shared=shared).cases[0]
    assert report.error is None
    assert report.variants == tuple(k % len(SHARED_FILLS) for k in range(10))
    outputs = read_outputs(tmp_path, report, "y", "float32")
    for y, byte in zip(outputs, SHARED_FILLS, strict=True):
        assert (y.view(np.uint8) == byte).all()
