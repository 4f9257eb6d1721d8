"""NVRTC without a driver: what it refuses, where g++ does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from fivegates import nvrtc
from fivegates.errors import ClaimError, ToolError
from fivegates.headers import include_folder
from fivegates.host import device_compile
from fivegates.host.compiler import find_compiler

ROOT = Path(__file__).parents[1]
needs_nvrtc = pytest.mark.skipif(
    device_compile.available() is None,
    reason="NVRTC is not installed (cuda-bindings, nvidia-cuda-nvrtc)",
)
needs_headers = pytest.mark.skipif(
    include_folder() is None,
    reason="CUDA headers are not installed (nvidia-cuda-runtime)",
)
INFINITE = """\
extern "C" __global__ void fill(float* y) {
    y[threadIdx.x] = -INFINITY;
}
"""
TEMPLATE = "template <int N> __global__ void scale(float* y) { y[threadIdx.x] *= N; }"


def compile_one(source, *, entry, options=(), architecture=90):
    return device_compile.ptx(
        source, name="own.cu", entry=entry, options=options, architecture=architecture
    )


def refused(source, **how):
    with pytest.raises(ClaimError) as refusal:
        compile_one(source, **how)
    return str(refusal.value)


@needs_nvrtc
@pytest.mark.parametrize("arm", ["scalar", "vec4"])
def test_triad_compiles_for_every_target(arm):
    targets = device_compile.compile_for(
        (ROOT / f"kernels/triad/{arm}.cu").read_text(),
        name=f"kernels/triad/{arm}.cu",
        entry=f"triad_{arm}",
        options=["--std=c++17"],
        architectures=[80, 90, 100],
    )
    assert targets == ("compute_80", "compute_90", "compute_100")


@needs_nvrtc
def test_empty_log_leaves_the_bytes_of_this_process_alone():
    compile_one('extern "C" __global__ void own(float* y) {}', entry="own")
    assert [bytes([n])[0] for n in (0, 32)] == [0, 32]
    assert (b" " * 1)[0] == 32


@needs_nvrtc
def test_infinity_is_refused_with_its_line():
    with pytest.raises(ClaimError) as refusal:
        device_compile.compile_for(
            INFINITE, name="own.cu", entry="fill", options=[], architectures=[90, 100]
        )
    assert str(refusal.value) == (
        "own.cu: does not compile for compute_90: "
        'own.cu(2): error: identifier "INFINITY" is undefined'
    )


def test_the_host_compiler_accepts_infinity(tmp_path):
    unit = tmp_path / "own.cpp"
    unit.write_text(f"struct {{ int x; }} threadIdx;\n{INFINITE}")
    command = [*find_compiler().command, "-fsyntax-only", "-include", "cmath"]
    subprocess.run([*command, "-D__global__=", unit], check=True)


@needs_nvrtc
def test_a_template_entry_is_lowered():
    text, symbol = compile_one(TEMPLATE, entry="scale<4>")
    assert symbol == "_Z5scaleILi4EEvPf"
    assert f".entry {symbol}(" in text
    assert text.endswith("\n")
    assert '.file\t1 "/own.cu"' in text


@needs_nvrtc
@pytest.mark.parametrize(
    ("source", "entry", "error"),
    [
        (
            TEMPLATE,
            "scaled<4>",
            '__nv_name_map(2): error: identifier "scaled" is undefined',
        ),
        (
            "__device__ void helper(float* y) { y[0] = 1; }",
            "helper",
            "__nv_name_map(2): error: Name expression cannot form address of a "
            'non-__global__ function. Input name expression was: " helper"',
        ),
    ],
)
def test_an_entry_that_is_no_kernel_is_one_error(source, entry, error):
    found = refused(source, entry=entry).replace("/__tile_global__", "")  # not in 13.0
    assert found == (
        f"own.cu: no kernel for entry '{entry}', expected a __global__ function of "
        f"that name: {error}"
    )


@needs_nvrtc
def test_options_of_the_arm_reach_the_compiler():
    source = 'extern "C" __global__ void one(float* y) { y[0] = X; }'
    assert compile_one(source, entry="one", options=["-DX=1"])[1] == "one"
    assert refused(source, entry="one") == (
        "own.cu: does not compile for compute_90: "
        'own.cu(1): error: identifier "X" is undefined'
    )
    assert refused(source, entry="one", options=["--bogus"]) == (
        "own.cu: does not compile for compute_90: "
        "nvrtc: error: unrecognized option --bogus found"
    )


@needs_nvrtc
def test_a_target_that_nvrtc_does_not_know_is_refused():
    assert refused(TEMPLATE, entry="scale<4>", architecture=20) == (
        "own.cu: does not compile for compute_20: "
        "nvrtc: error: invalid value for --gpu-architecture (-arch)"
    )


@needs_nvrtc
def test_a_warning_that_says_error_is_not_the_error():
    source = "__global__ void own(float* y) { int error; y[0] = missing; }"
    assert refused(source, entry="own") == (
        "own.cu: does not compile for compute_90: "
        'own.cu(1): error: identifier "missing" is undefined'
    )


@needs_nvrtc
@needs_headers
@pytest.mark.parametrize("header", ["cuda_fp16.h", "cuda/std/cstdint"])
def test_headers_of_the_toolkit_are_found(header):
    source = f'#include <{header}>\nextern "C" __global__ void own(float*) {{}}'
    assert compile_one(source, entry="own")[1] == "own"


@needs_headers
def test_the_host_compiler_takes_the_include_folder(tmp_path):
    unit = tmp_path / "own.cpp"
    unit.write_text("#include <cuda_fp16.h>\nfloat f(__half a) { return a; }\n")
    folder = include_folder()
    command = [*find_compiler().command, "-fsyntax-only", "-isystem", folder]
    subprocess.run([*command, unit], check=True)


def test_without_the_packages_there_is_no_compiler(monkeypatch):
    for module in ("cuda.bindings.nvrtc", "cuda.pathfinder"):
        monkeypatch.setitem(sys.modules, module, None)
    assert device_compile.available() is None
    assert include_folder() is None
    with pytest.raises(ToolError) as missing:
        compile_one(TEMPLATE, entry="scale<4>")
    assert str(missing.value) == (
        "NVRTC: not installed, expected the packages of the extra 'host'"
    )


def test_bindings_without_the_library_are_no_compiler(monkeypatch):
    class Bindings:
        @staticmethod
        def nvrtcVersion():  # noqa: N802
            raise RuntimeError('Failure finding "libnvrtc.so.13"')

    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", Bindings)
    assert device_compile.available() is None


def test_the_harness_options_are_those_of_the_device():
    launch = (ROOT / "workflow/scripts/fivegates/launch.py").read_text()
    assert device_compile.HARNESS_OPTIONS == nvrtc.HARNESS_OPTIONS == ("-lineinfo",)
    assert "from fivegates.nvrtc import HARNESS_OPTIONS" in launch
    assert "*HARNESS_OPTIONS" in launch
