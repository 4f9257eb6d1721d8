"""The pipeline itself, on the host backend: what runs, what reruns, what is refused."""

import json
import os
import random
import re
import shutil

import pytest
import yaml

from conftest import copy_tree, snakemake
from fivegates.arm import ROLES
from fivegates.checking import CHECKS
from fivegates.cli import main
from fivegates.store import canonical
from trees import RECEIPTS, V2_SUPPORTED, forge

CLAIM = "config/claims/triad-vec4.yaml"
RECEIPT = "results/receipt.json"
NOTHING = "Nothing to be done"


def configure(tree, change=None, **config):
    """Run on the host, with a claim and a configuration of the test's own."""
    path = tree / "config/config.yaml"
    document = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**document, "backend": "host", **config}))
    if change is not None:
        claim = yaml.safe_load((tree / CLAIM).read_text())
        change(claim)
        (tree / CLAIM).write_text(yaml.safe_dump(claim))
    return tree


def run(tree, *arguments):
    """Exit status, and all that Snakemake printed."""
    completed = snakemake(tree, *arguments)
    assert "Traceback" not in completed.stdout
    return completed


def jobs(tree):
    """(rule, role or tool or nothing) of every job that a dry run announces."""
    text = run(tree, "-n", RECEIPT).stdout
    found = []
    for block in re.split(r"\n(?=(?:local)?rule )", text)[1:]:
        rule = re.match(r"(?:local)?rule (\w+):", block)[1]
        role = re.search(r"wildcards:.*role=(\w+)", block)
        found.append((rule, role and role[1]))
    return sorted(found, key=str)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A tree in which the main job has run, once for all tests that only look."""
    tree = configure(copy_tree(tmp_path_factory.mktemp("finished")))
    completed = run(tree, RECEIPT)
    assert completed.returncode == 0, completed.stdout
    return tree


@pytest.fixture
def done(finished, tmp_path):
    """A copy of the finished tree that a test may change, with its times scrambled."""
    tree = tmp_path / "tree"
    shutil.copytree(finished, tree)
    draw = random.Random(0)
    for path in tree.rglob("*"):
        os.utime(path, (1.7e9 + draw.random() * 1e6,) * 2)
    return tree


def document(tree, name):
    return json.loads((tree / "results" / "triad-vec4" / name).read_text())


def test_main_job_ends_in_a_preflight_receipt(finished, capsys):
    receipt = json.loads((finished / RECEIPT).read_text())
    assert receipt["status"] == "preflight"
    assert receipt["verdict"]["reason"] == "no-device"
    assert receipt["schema"] == "fivegates:receipt/v2"
    assert receipt["calibration"] is None
    assert main(["verify", str(finished / RECEIPT)]) == 3
    assert capsys.readouterr().out.splitlines()[2] == (
        "sanitizer  pass         memcheck 0 errors, racecheck 0 errors, initcheck 0 "
        "errors, synccheck 0 errors, undefined 0 errors; controls caught"
    )


def numbers(value, path=""):
    """Paths of all numbers in a document."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


PERFORMANCE = re.compile(r"_us\b|_gb_s\b|speedup|latency|bandwidth|flop|interval")


def test_host_tree_holds_no_performance_anywhere(finished):
    receipt = json.loads((finished / RECEIPT).read_text())
    assert not {"measurement", "result", "roofline", "hardware"} & set(receipt)
    for path in (finished / "results/triad-vec4").rglob("*.json"):
        if path.name == "claim.json":
            continue  # the policy of gate 3 is frozen with the claim
        found = filter(PERFORMANCE.search, numbers(json.loads(path.read_text())))
        assert list(found) == [], path


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("result", {"outcome": "faster"}),
        ("calibration", {"name": "calibration.json"}),
        ("measurement", {"samples": 10}),
        ("roofline", {"candidate_useful_gb_s": 4000.0}),
        ("hardware", {"gpu_uuid": "GPU-1"}),
    ],
)
def test_host_receipt_with_performance_is_invalid(done, capsys, field, value):
    receipt = json.loads((done / RECEIPT).read_text())
    for path in (done / RECEIPT, done / "results/triad-vec4/receipt.json"):
        path.write_bytes(canonical({**receipt, field: value}))
    assert main(["verify", str(done / RECEIPT)]) == 2
    assert field in capsys.readouterr().err


def test_host_record_with_a_measured_time_is_invalid(done, capsys):
    """All digests are mended: what refuses it is that a host cannot have timed."""

    def timed(record):
        measured = {"exit_status": 0, "last_words": "", "binaries": {}, "facts": None}
        result = {"declared": {}, "measured": measured, "derived": {"statistics": None}}
        return {**record, "result": result}

    forge(done / "results", "timing/s01.json", timed)
    assert main(["verify", str(done / RECEIPT)]) == 2
    assert (
        "triad-vec4/timing/s01.json: holds a result, expected none: not-run "
        "(no-device): needs an NVIDIA device"
    ) in capsys.readouterr().err


def test_arms_held_to_different_values_are_no_comparison(done, capsys):
    def other(record):
        record["result"]["measured"]["oracle_sha256"] = "0" * 64
        return record

    forge(done / "results", "candidate/reference.json", other)
    assert main(["verify", str(done / RECEIPT)]) == 2
    assert (
        f"triad-vec4/candidate/reference.json: oracle_sha256 is {'0' * 64}, expected "
    ) in capsys.readouterr().err


def test_host_record_that_forgets_a_finding_is_invalid(done, capsys):
    """The log says that there was a race, and the record that there was none."""
    finding = {
        "check": "racecheck", "kind": "RAW", "level": "error", "count": 1,
        "block": [0, 0, 0], "thread": [1, 0, 0], "other_block": [0, 0, 0],
        "other_thread": [0, 0, 0], "space": "shared", "object": "h", "offset": 0,
        "file": "kernels/triad/vec4.cu", "line": 7, "other_line": 9,
    }  # fmt: skip
    line = json.dumps(finding).encode() + b"\n"
    log = "candidate/sanitizer/racecheck.raw/checked.jsonl"
    forge(done / "results", log, lambda data: data + line)
    assert main(["verify", str(done / RECEIPT)]) == 2
    assert "candidate/sanitizer/racecheck.json: result.derived.runs" in (
        capsys.readouterr().err
    )


def test_host_says_not_run_of_what_it_cannot_do(finished):
    for name in ("timing/s01.json", "timing.json", "roofline.json"):
        verdict = document(finished, name)["verdict"]
        assert (verdict["status"], verdict["reason"]) == ("not-run", "no-device")


def test_one_run_of_the_checker_answers_for_every_tool(finished):
    for tool in CHECKS:
        record = document(finished, f"candidate/sanitizer/{tool}.json")
        assert record["verdict"]["status"] == "pass"
        (log,) = (
            a
            for a in record["artifacts"]
            if a["name"].endswith("jsonl") and "checked" in a["name"]
        )
        assert log["size_bytes"] == 0
        control = document(finished, f"control/{tool}.json")
        assert control["verdict"]["message"] == f"caught the planted fault: {tool}"


def test_memcheck_has_a_second_opinion_and_a_census(finished):
    result = document(finished, "candidate/sanitizer/memcheck.json")["result"]
    if result["measured"]["address_sha256"] is None:
        pytest.skip("this compiler has no AddressSanitizer")
    assert [run["name"] for run in result["measured"]["runs"]] == ["checked", "address"]
    loads = [
        row for row in result["derived"]["census"] if row["access"] == "global load"
    ]
    assert sum(row["bytes"] for row in loads) == 2 * 4 * 1000003
    assert {round(row["units_per_request"], 1) for row in loads} == {1.0, 16.0}


def test_both_settings_of_contraction_are_recorded(finished):
    found = document(finished, "candidate/reference.json")["result"]["derived"]["host"]
    assert found["orders"] >= 30
    assert found["contraction_spread_ratio"] == 0
    assert 0 < found["tolerance_ratio"] < 0.5
    assert found["numerics"] == "representative"


def test_calibration_of_a_device_is_no_evidence_of_a_preflight(done):
    """It may lie in results/ from when a device was there."""
    results = done / "results"
    shutil.copy(RECEIPTS / V2_SUPPORTED / "calibration.json", results)
    assert "calibration.json" not in run(done, "-n", "-F", RECEIPT).stdout
    assert NOTHING in run(done, "-n", RECEIPT).stdout
    assert main(["verify", str(done / RECEIPT)]) == 3


def test_claim_of_another_boundary_ends_in_a_preflight_receipt(tree):
    def cold(claim):
        claim["workload"] |= {"boundary": "cold-start", "cache_regime": "same-buffer"}
        claim["workload"]["sizes"]["n"] = 1003

    completed = run(configure(tree, cold), RECEIPT)
    assert completed.returncode == 0, completed.stdout
    receipt = json.loads((tree / RECEIPT).read_text())
    assert receipt["workload"]["boundary"] == "cold-start"
    assert receipt["verdict"]["reason"] == "no-device"
    assert main(["verify", str(tree / RECEIPT)]) == 3


def test_judge_fails_when_the_claim_is_not_supported_and_leaves_the_receipt(done):
    before = (done / RECEIPT).read_bytes()
    completed = run(done, "judge")
    assert completed.returncode == 1
    assert (done / RECEIPT).read_bytes() == before


def test_second_call_does_nothing(finished):
    assert NOTHING in run(finished, RECEIPT).stdout


def test_fresh_checkout_with_any_times_reruns_nothing(done):
    """corpus G08: mtimes were scrambled, contents were not."""
    assert NOTHING in run(done, "-n", RECEIPT).stdout


def test_touch_of_every_file_reruns_nothing(done):
    for path in done.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert NOTHING in run(done, "-n", RECEIPT).stdout


@pytest.mark.parametrize("file", [CLAIM, "config/config.yaml"])
def test_comment_in_yaml_reruns_nothing(done, file):
    path = done / file
    path.write_text(f"# why\n{path.read_text()}\n# and a last line\n")
    assert NOTHING in run(done, "-n", RECEIPT).stdout


def test_edit_of_the_candidate_reruns_its_gates_and_none_of_the_baselines(done):
    path = done / "kernels/triad/vec4.cu"
    path.write_text(path.read_text() + "// another binary\n")
    assert jobs(done) == sorted(
        [
            ("pin_source", "candidate"),
            ("build_arm", "candidate"),
            ("check_reference", "candidate"),
            ("check_arm", "candidate"),
            ("refuse_timing", None),
            ("assemble_receipt", None),
            ("receipt", None),
        ],
        key=str,
    )


@pytest.mark.parametrize(
    "file",
    [
        "workflow/scripts/fivegates/reference.py",
        "workflow/scripts/fivegates/host/runner.cpp",
        "workflow/scripts/check_reference.py",
        "workflow/schemas/gate_record.schema.json",
        "kernels/controls/memcheck.cu",
    ],
)
def test_harness_code_is_an_input_like_any_other(done, file):
    path = done / file
    path.write_text(path.read_text() + "\n")
    announced = jobs(done)
    for role in ROLES:
        assert ("check_reference", role) in announced
        assert ("check_arm", role) in announced


def test_change_of_the_claim_reruns_its_gates(done):
    configure(done, lambda claim: claim.update(margin=0.02))
    assert ("freeze_claim", None) in jobs(done)


def test_timing_waits_for_every_gate_before_it(finished):
    text = run(finished, "-n", "-F", RECEIPT).stdout
    block = text.split("rule refuse_timing:")[1].split("output:")[0]
    for role in ROLES:
        assert f"results/triad-vec4/{role}/reference.json" in block
        for tool in CHECKS:
            assert f"results/triad-vec4/{role}/sanitizer/{tool}.json" in block


def inclusive_guard(claim):
    claim["workload"]["sizes"]["n"] = 1003
    claim["candidate"] |= {
        "source": "tests/kernels/triad_inclusive_guard.cu",
        "entry": "triad_inclusive_guard",
        "grid": ["ceil_div(n, 256)"],
    }


def test_inclusive_guard_is_refused_and_its_receipt_written(tree, capsys):
    completed = run(configure(tree, inclusive_guard), RECEIPT)
    assert completed.returncode == 0
    assert document(tree, "candidate/reference.json")["verdict"]["status"] == "pass"
    memcheck = document(tree, "candidate/sanitizer/memcheck.json")["verdict"]
    assert (memcheck["status"], memcheck["reason"]) == ("fail", "memory-error")
    assert re.fullmatch(
        r'12 errors, "invalid read of size 4, 0 bytes behind z of 4 bytes" in '
        r"triad_inclusive_guard at tests/kernels/triad_inclusive_guard.cu:9 "
        r"block \(0,0,0\) thread \(1,0,0\); AddressSanitizer agrees",
        memcheck["message"],
    )
    assert document(tree, "timing.json")["verdict"]["status"] == "not-run"
    assert main(["verify", str(tree / RECEIPT)]) == 1
    assert "verdict    refused      candidate/sanitizer/memcheck: 12 errors" in (
        capsys.readouterr().out
    )


def wrong_formula(tree):
    (tree / "kernels/triad/wrong.cu").write_text(
        'extern "C" __global__ void wrong(const float* x, const float* z, float* y, '
        "size_t n, float alpha) { size_t i = size_t(blockIdx.x) * blockDim.x + "
        "threadIdx.x; if (i < n) y[i] = i == 256 ? 0 : fmaf(alpha, x[i], z[i]); }"
    )


def test_wrong_value_refuses_before_any_sanitizer_runs(tree):
    wrong_formula(tree)

    def use(claim):
        claim["workload"]["sizes"]["n"] = 1003
        claim["candidate"] |= {
            "source": "kernels/triad/wrong.cu",
            "entry": "wrong",
            "grid": ["ceil_div(n, 256)"],
        }

    assert run(configure(tree, use), RECEIPT).returncode == 0
    receipt = json.loads((tree / RECEIPT).read_text())
    assert receipt["verdict"]["status"] == "refused"
    assert receipt["verdict"]["reason"] == "tolerance-exceeded"
    assert receipt["verdict"]["message"].startswith(
        "candidate/reference: n=257, seed=7, lab: 1 of 257 elements of y outside "
        "tolerance; first at 256: y=0, r="
    )
    memcheck = document(tree, "candidate/sanitizer/memcheck.json")
    assert memcheck["result"] is None
    assert memcheck["verdict"]["message"] == "candidate/reference is fail"


def arm(tree, body, **changes):
    """Make this the candidate: a kernel of triad's signature, in the plain grid."""
    (tree / "kernels/triad/own.cu").write_text(
        'extern "C" __global__ void own(const float* x, const float* z, float* y, '
        f"size_t n, float alpha) {{\n{body}\n}}"
    )

    def use(claim):
        claim["workload"]["sizes"]["n"] = 1003
        claim["candidate"] |= {"source": "kernels/triad/own.cu", "entry": "own"}
        claim["candidate"] |= {"grid": ["ceil_div(n, 256)"], **changes}

    configure(tree, use)
    completed = run(tree, RECEIPT)
    assert completed.returncode == 0, completed.stdout
    return json.loads((tree / RECEIPT).read_text())["verdict"]


INDEX = "size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;\n"
TRIAD = "if (i < n) y[i] = fmaf(alpha, x[i], z[i]);"


def test_construct_that_only_a_device_has_is_not_run_on_the_host(tree):
    body = f'unsigned lane;\nasm("mov.u32 %0, %laneid;" : "=r"(lane));\n{INDEX}{TRIAD}'
    assert arm(tree, body) == {
        "status": "refused",
        "reason": "unsupported-construct",
        "message": "candidate/build: kernels/triad/own.cu: asm at line 3, expected "
        "what the host can run; run the claim where an NVIDIA device is",
    }
    assert main(["verify", str(tree / RECEIPT)]) == 1


def test_race_refuses_a_kernel_whose_values_are_right(tree):
    """All threads store the right value: gate 1 passes, gate 2 does not."""
    body = f"{INDEX}__shared__ volatile float last;\nlast = alpha;\n"
    verdict = arm(tree, body + TRIAD.replace("alpha", "last"))
    assert document(tree, "candidate/reference.json")["verdict"]["status"] == "pass"
    assert (verdict["status"], verdict["reason"]) == ("refused", "race")
    assert (
        "race, WAW on shared last: written here, written at line 4 by thread"
        in (verdict["message"])
    )
    assert main(["verify", str(tree / RECEIPT)]) == 1


def test_print_without_end_is_not_run(tree):
    verdict = arm(tree, f'{INDEX}for (;;) printf("%d", int(i));\n{TRIAD}')
    assert (verdict["status"], verdict["reason"]) == ("refused", "limit-reached")
    record = document(tree, "candidate/reference.json")["verdict"]
    assert record["status"] == "not-run"
    assert record["message"].endswith("the kernel printed more than 1048576 bytes")
    assert main(["verify", str(tree / RECEIPT)]) == 1


def test_shared_memory_and_barriers_run_on_the_host(tree):
    body = (
        "extern __shared__ float tile[];\n__shared__ float scale;\n"
        f"{INDEX}if (threadIdx.x == 0) scale = alpha;\n"
        "tile[threadIdx.x] = i < n ? x[i] : 0.0f;\n__syncthreads();\n"
        "if (i < n) y[i] = fmaf(scale, tile[threadIdx.x], z[i]);"
    )
    verdict = arm(tree, body, dynamic_shared_bytes=1024)
    assert verdict["reason"] == "no-device", verdict
    assert main(["verify", str(tree / RECEIPT)]) == 3


def broken_source(text):
    def change(tree):
        (tree / "kernels/triad/vec4.cu").write_text(text)

    return change


BAD = {
    "missing field": (
        lambda claim: claim.pop("margin"),
        None,
        f"{CLAIM}: margin is missing, expected a ratio between 0 and 1, such as 0.01",
    ),
    "true for a count": (
        lambda claim: claim["workload"]["sizes"].update(n=True),
        None,
        f"{CLAIM}: workload.sizes.n is True (bool), expected an integer of at least 0",
    ),
    "unknown operation": (
        lambda claim: claim.update(operation="quadrad"),
        None,
        f"{CLAIM}: operation is 'quadrad': kernels/quadrad/operation.py does not "
        "exist, expected one of: compact, gather, histogram, layernorm, matmul, "
        "recurrent, rmsnorm, row_max, row_sum, softmax, transpose, transpose_views, "
        "triad",
    ),
    "kernel file that is not there": (
        lambda claim: claim["candidate"].update(source="kernels/triad/vec5.cu"),
        None,
        f"{CLAIM}: candidate.source is 'kernels/triad/vec5.cu', "
        "expected an existing file",
    ),
    "one slot rotated": (
        lambda claim: claim["workload"].update(rotation_slots=1),
        None,
        f"{CLAIM}: workload.rotation_slots is 1, expected at least 2 or none for "
        "cache_regime 'buffer-rotated'",
    ),
    "sizes past any grid": (
        lambda claim: claim["workload"]["sizes"].update(n=10**13),
        None,
        f"{CLAIM}: baseline.grid is ['ceil_div(n, 256)']: 39062500000 blocks, "
        "expected 0 to 2147483647",
    ),
    "sizes past the memory": (
        lambda claim: (
            claim["workload"]["sizes"].update(n=2**38),
            claim["baseline"].update(grid=["ceil_div(n, 1024)"], block=[1024]),
        ),
        None,
        f"{CLAIM}: workload.sizes is n=274877906944: needs 45079976738816 bytes of "
        "memory, expected at most ",
    ),
    "kernel that does not compile": (
        None,
        broken_source('extern "C" __global__ void triad_vec4(float* y) { y = 1.0f; }'),
        "kernels/triad/vec4.cu: does not compile for the host: "
        "kernels/triad/vec4.cu:1: error: cannot convert 'float' to 'float*' in "
        "assignment",
    ),
    "entry that does not exist": (
        lambda claim: claim["candidate"].update(entry="triad_vec5"),
        None,
        "kernels/triad/vec4.cu: no kernel for entry 'triad_vec5', expected a "
        "__global__ function of that name",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_error_and_leaves_no_record(tree, what):
    change, spoil, message = BAD[what]
    configure(tree, change)
    if spoil is not None:
        spoil(tree)
    completed = run(tree, RECEIPT)
    assert completed.returncode == 1
    lines = [line for line in completed.stdout.splitlines() if message in line]
    assert len(lines) == 1, completed.stdout
    results = tree / "results" / "triad-vec4"
    assert not list(results.rglob("reference.json"))
    assert not (results / "candidate" / "build.json").exists()
    for path in results.rglob("*.json"):
        json.loads(path.read_text())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rounds: 56",
            "rounds: 3",
            "policy.timing.rounds: expected an integer of at least 8",
        ),
        ("rounds: 56", "rounds: many", "policy.timing.rounds: expected an integer"),
        (
            "claim: triad-vec4",
            "claim: triad-vec5",
            "claim is 'triad-vec5', expected one of: compact-block, gather-rows, "
            "histogram-shared, layernorm-bfloat16-registers, layernorm-registers, "
            "matmul-bfloat16-tiled, matmul-half-tiled, matmul-tiled, "
            "recurrent-double-buffer, recurrent-one-barrier, "
            "rmsnorm-bfloat16-registers, rmsnorm-registers, row-max-warp, "
            "row-sum-bfloat16, row-sum-half, row-sum-shapes, row-sum-warp, "
            "softmax-half-registers, softmax-registers, transpose-tiled, "
            "transpose-views-tiled, triad-vec4",
        ),
        ("backend: auto", "backend: gpu", "backend: expected "),
        ("padding_bytes", "padding", "policy.sanitizer: expected padding_bytes and"),
    ],
)
def test_bad_configuration_is_one_line_by_field(tree, old, new, message):
    path = tree / "config/config.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    completed = run(tree, "-n", RECEIPT)
    assert completed.returncode == 1
    lines = [line for line in completed.stdout.splitlines() if "config.yaml: " in line]
    assert len(lines) == 1
    assert f"config/config.yaml: {message}" in lines[0]


def test_wrong_arguments_are_one_error_of_the_claim(tree):
    def swap(claim):
        claim["candidate"]["arguments"] = ["x", "z", "y", "float32 alpha", "uint64 n"]

    completed = run(configure(tree, swap), RECEIPT)
    assert completed.returncode == 1
    message = (
        f"{CLAIM}: candidate.arguments: [3] is float32 of 4 bytes, the kernel takes 8"
    )
    assert message in completed.stdout


def test_record_edited_by_hand_ends_in_no_receipt(done):
    path = done / "results/triad-vec4/candidate/reference.json"
    path.write_text(path.read_text().replace('"failures": 0', '"failures": 1', 1))
    before = (done / RECEIPT).read_bytes()
    completed = run(done, RECEIPT)
    assert completed.returncode == 1
    assert "triad-vec4/candidate/reference.json: result.derived.failures is 1" in (
        completed.stdout
    )
    assert "Run Snakemake again with --forceall" in completed.stdout
    assert (done / RECEIPT).read_bytes() == before


def test_cuda_that_is_asked_for_and_does_not_answer_is_one_error(tree):
    configure(tree, backend="cuda")
    completed = snakemake(tree, RECEIPT)
    if completed.returncode == 0:
        pytest.skip("a device answers here")
    assert (
        "config.backend is 'cuda': no device answers, expected a driver, an NVIDIA GPU "
        "and the extra cuda12 or cuda13"
    ) in completed.stdout
