"""SentryWard: its answers as it printed them, and, where installed, new ones."""

import importlib.util
import json
from importlib import metadata
from pathlib import Path

import pytest

from fivegates.arm import Argument, Launch
from fivegates.host import device_compile, static_proof
from fivegates.process import Completed

ANSWERS = Path(__file__).parent / "data/sentryward/0.1.1"
needs_tool = pytest.mark.skipif(
    importlib.util.find_spec("sentryward") is None
    or device_compile.available() is None,
    reason="SentryWard and NVRTC are not installed (sentryward, nvidia-cuda-nvrtc)",
)
DISTINCT = "buffers taken as distinct, bounds not checked"
RECURRENT = """\
extern "C" __global__ void recurrent(const float* __restrict__ w,
                                     const float* __restrict__ x,
                                     float* __restrict__ y, int steps) {
    __shared__ float h[STAGES][64];
    const int j = threadIdx.x;
    h[0][j] = 0;
    __syncthreads();
    for (int t = 0; t < steps; ++t) {
        float sum = x[t * 64 + j];
        for (int k = 0; k < 64; ++k)
            sum = fmaf(w[j * 64 + k], h[t % STAGES][k], sum);
        h[(t + 1) % STAGES][j] = tanhf(sum);
        __syncthreads();
    }
    y[j] = h[steps % STAGES][j];
}
"""
COUNT = """\
extern "C" __global__ void count(int* y) {
    atomicAdd(y, 1);
}
"""
DIVERGENT = """\
extern "C" __global__ void divergent(float* y) {
    __shared__ float s[64];
    s[threadIdx.x] = y[threadIdx.x];
    if (threadIdx.x < 32)
        __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}
"""
SCALED = """\
extern "C" __global__ void scaled(float* y, float beta, int shift, size_t n) {
    __shared__ float s[64];
    const int i = threadIdx.x;
    s[i] = y[i];
    if (beta > 0.75f && shift < 0 && n > 5000000000)
        __syncthreads();
    y[i] = s[63 - i];
}
"""
BUFFER = Argument(kind="buffer", name="y", value=None)


def scalar(kind, value):
    return Argument(kind="scalar", name=kind, value=value)


def launch(*arguments, grid=(1, 1, 1)):
    return Launch(
        grid=grid, block=(64, 1, 1), dynamic_shared_bytes=0, arguments=arguments
    )


def prove(source, entry, how, *, options=(), timeout_s=60.0):
    text, symbol = device_compile.ptx(
        source,
        name="kernels/own.cu",
        entry=entry,
        options=options,
        architecture=static_proof.PTX_ARCHITECTURE,
    )
    return static_proof.prove(text, symbol, how, timeout_s)


def printed(text, exit_status=0, stderr=""):
    return static_proof.answer(
        Completed(exit_status=exit_status, stdout=text, stderr=stderr)
    )


def report(result, checks, **diagnostic):
    diagnostics = [diagnostic] if diagnostic else []
    return json.dumps({"result": result, "checks": checks, "diagnostics": diagnostics})


CASES = {
    "race": (
        0,
        "potential_race",
        "shared memory: write at kernels/own.cu:12 by thread 0, "
        "read at kernels/own.cu:11 by thread 1",
    ),
    "no-race": (0, "race_free", DISTINCT),
    "divergent-barrier": (
        0,
        "not_wellsynced",
        "blocked at kernels/own.cu:5: not_wellsynced: The reference execution cannot "
        "advance; events remain blocked.",
    ),
    "atomic": (
        0,
        "inconclusive",
        "unsupported: atomic_add_memory_semantics_unsupported: Atomic add memory "
        "semantics are unsupported",
    ),
    "timeout": (2, "inconclusive", "timeout: time_budget"),
    "invalid-input": (
        2,
        "inconclusive",
        "invalid_input: inconsistent_parameter_type: $.arguments[0].type: type "
        "contradicts the PTX parameter declaration",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_stored_answers_are_read(name):
    exit_status, *expected = CASES[name]
    text = (ANSWERS / f"{name}.json").read_text()
    assert printed(text, exit_status) == tuple(expected)


@pytest.mark.parametrize("name", ["race", "no-race", "divergent-barrier"])
def test_an_answer_followed_by_a_crash_is_inconclusive(name):
    text = (ANSWERS / f"{name}.json").read_text()
    result = CASES[name][1]
    assert printed(text, -11) == ("inconclusive", f"{result}, then exit status -11")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"result": "race_free"}',
        '{"result": {}, "checks": {}}',
        '{"result": "race_free", "checks": []}',
        '{"result": "unsupported", "checks": {}, "diagnostics": ["x"]}',
    ],
)
def test_an_unreadable_answer_is_inconclusive(text):
    found = printed(text, 0, "libz3.so: cannot open\n")
    assert found == ("inconclusive", "no readable answer: libz3.so: cannot open")


def test_no_answer_in_time_is_inconclusive():
    assert printed("", None) == ("inconclusive", "no answer in time")


def test_race_free_needs_both_checks():
    checks = {"synchronization": "passed", "memory": "incomplete"}
    assert printed(report("race_free", checks)) == (
        "inconclusive",
        "race_free, with checks {'synchronization': 'passed', 'memory': 'incomplete'}",
    )


def test_a_race_without_a_witness_stays_a_race():
    checks = {"synchronization": "passed", "memory": "failed"}
    text = report("potential_race", checks, code="unordered", message="two\naccesses")
    assert printed(text) == (
        "potential_race",
        "potential_race: unordered: two accesses",
    )


def test_a_detail_is_one_short_line():
    checks = {"synchronization": "passed", "memory": "incomplete"}
    text = report("unsupported", checks, code="x", message="two words\n" * 100)
    assert "\n" not in printed(text)[1]
    assert len(printed(text)[1]) == 300


def test_scalars_are_passed_by_value_and_buffers_not():
    how = launch(
        BUFFER,
        scalar("int32", -5),
        BUFFER,
        scalar("uint64", 7),
        scalar("float32", 0.5),
        scalar("int64", -1),
        scalar("float64", 2),
    )
    assert static_proof.request("k", how) == {
        "schema": "spverify.kernel-input/v1",
        "entry": "k",
        "launch": {
            "grid_dim": (1, 1, 1),
            "block_dim": (64, 1, 1),
            "dynamic_shared_bytes": 0,
        },
        "arguments": [
            {"parameter": 1, "type": "u32", "value": 4294967291},
            {"parameter": 3, "type": "u64", "value": 7},
            {"parameter": 4, "type": "f32", "value": 0.5},
            {"parameter": 5, "type": "u64", "value": 2**64 - 1},
            {"parameter": 6, "type": "f64", "value": 2},
        ],
    }


def test_without_the_tool_there_is_no_answer(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert static_proof.prove("", "k", launch(), 1.0) is None


@needs_tool
@pytest.mark.parametrize(("stages", "name"), [(1, "race"), (2, "no-race")])
def test_a_second_buffer_takes_the_race_away(stages, name):
    how = launch(BUFFER, BUFFER, BUFFER, scalar("int32", 2))
    found = prove(RECURRENT, "recurrent", how, options=[f"-DSTAGES={stages}"])
    _, result, detail = CASES[name]
    tool = f"SentryWard {metadata.version('sentryward')}"
    assert found == {"tool": tool, "result": result, "detail": detail}


@needs_tool
@pytest.mark.parametrize(
    ("source", "entry", "name"),
    [(COUNT, "count", "atomic"), (DIVERGENT, "divergent", "divergent-barrier")],
)
def test_atomics_and_barriers_are_answered(source, entry, name):
    found = prove(source, entry, launch(BUFFER))
    assert (found["result"], found["detail"]) == CASES[name][1:]


@needs_tool
@pytest.mark.parametrize(
    ("beta", "shift", "n", "result"),
    [
        (1.5, -1, 6 * 10**9, "race_free"),
        (0.5, -1, 6 * 10**9, "potential_race"),
        (1.5, 1, 6 * 10**9, "potential_race"),
        (1.5, -1, 4 * 10**9, "potential_race"),
    ],
)
def test_a_branch_on_scalars_is_followed(beta, shift, n, result):
    scalars = scalar("float32", beta), scalar("int32", shift), scalar("uint64", n)
    assert prove(SCALED, "scaled", launch(BUFFER, *scalars))["result"] == result


@needs_tool
def test_time_is_bounded():
    how = launch(BUFFER, BUFFER, BUFFER, scalar("int32", 64), grid=(64, 1, 1))
    found = prove(RECURRENT, "recurrent", how, options=["-DSTAGES=2"], timeout_s=0.5)
    assert found["result"] == "inconclusive"
    assert found["detail"].startswith("timeout: ")


@needs_tool
def test_what_is_no_ptx_is_inconclusive():
    found = static_proof.prove("no PTX", "k", launch(), 10.0)
    assert found["result"] == "inconclusive"
