"""Bad input: one error, naming file and field, before anything is written."""

import json

import pytest
import yaml

import freeze_claim
from fivegates.errors import ClaimError
from fivegates.gate import guarded

NAME = "config/claims/bad.yaml"


def refusal(document, policy):
    with pytest.raises(ClaimError) as error:
        freeze_claim.freeze(NAME, document, policy)
    return str(error.value)


def without(key):
    return lambda d: d.pop(key)


BAD = [
    (
        lambda d: d["workload"]["sizes"].update(n=1003.0),
        "workload.sizes.n is 1003.0 (float), expected an integer of at least 0",
    ),
    (
        lambda d: d.update(margin=float("nan")),
        "margin is nan (float), expected a ratio between 0 and 1, such as 0.01",
    ),
    (
        lambda d: d.update(claim="faster\nverdict    supported"),
        "claim is 'faster\\nverdict    supported' (str), "
        "expected a sentence that can be proved wrong, on one line",
    ),
    (
        lambda d: d["candidate"].update(options=["-I/elsewhere"]),
        "candidate.options[0] is '-I/elsewhere' (str), expected a compiler option that "
        "starts with - and adds no include path",
    ),
    (
        without("margin"),
        "margin is missing, expected a ratio between 0 and 1, such as 0.01",
    ),
    (
        lambda d: d["workload"].pop("boundary"),
        "workload.boundary is missing, expected one of: device, launch, graph, "
        "cold-start, end-to-end",
    ),
    (
        lambda d: d["workload"]["sizes"].update(n=True),
        "workload.sizes.n is True (bool), expected an integer of at least 0",
    ),
    (
        lambda d: d["workload"]["sizes"].update(n=-1),
        "workload.sizes.n is -1 (int), expected an integer of at least 0",
    ),
    (
        lambda d: d["workload"]["sizes"].update(n="1e6"),
        "workload.sizes.n is '1e6' (str), expected an integer of at least 0",
    ),
    (
        lambda d: d["tolerance"].update(atol="2e-6"),
        "tolerance.atol is '2e-6' (str), "
        "expected a number of at least 0, such as 2.0e-6",
    ),
    (
        lambda d: d["candidate"].update(entry=""),
        "candidate.entry is '' (str), expected the name of a __global__ function",
    ),
    (
        lambda d: d["candidate"].update(source="../outside.cu"),
        "candidate.source is '../outside.cu' (str), expected the path of a .cu file in "
        "the repository",
    ),
    (
        lambda d: d["candidate"].update(source="kernels/triad/none.cu"),
        "candidate.source is 'kernels/triad/none.cu', expected an existing file",
    ),
    (
        lambda d: d["candidate"].update(blok=[256]),
        "candidate.blok is not a known field, expected one of: arguments, block, "
        "dynamic_shared_bytes, entry, grid, options, source",
    ),
    (
        lambda d: d.update(operation="quadrad"),
        "operation is 'quadrad': kernels/quadrad/operation.py does not exist, expected "
        "one of: compact, gather, histogram, layernorm, matmul, recurrent, rmsnorm, "
        "row_max, row_sum, softmax, transpose, transpose_views, triad",
    ),
    (
        lambda d: d["workload"].update(rotation_slots=1),
        "workload.rotation_slots is 1, expected at least 2 or none for cache_regime "
        "'buffer-rotated'",
    ),
    (
        lambda d: d["workload"].update(cache_regime="hbm"),
        "workload.cache_regime is 'hbm' (str), expected one of: same-buffer, "
        "buffer-rotated, swept",
    ),
    (
        lambda d: d["workload"].update(boundary="cold-start"),
        "workload.cache_regime is 'buffer-rotated', expected 'same-buffer' for "
        "boundary 'cold-start': its one launch finds what a fresh process finds",
    ),
    (
        lambda d: d["workload"].update(cache_regime="swept", rotation_slots=2),
        "workload.rotation_slots is 2, expected 1 or none for cache_regime 'swept'",
    ),
    (
        lambda d: d["workload"].update(sizes={"m": 4}),
        "workload.sizes has m, expected n",
    ),
    (
        lambda d: d["candidate"].update(block=["threads"]),
        "candidate.block[0] is 'threads', expected an integer expression of sizes with "
        "+ - * // %, ceil_div, min, max (sizes: n)",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[m[:40] for _, m in BAD])
def test_bad_claim_is_one_error_that_names_file_and_field(
    root, document, policy, change, message
):
    change(document)
    assert refusal(document, policy) == f"{NAME}: {message}"


def test_all_problems_of_a_claim_are_told_at_once(root, document, policy):
    del document["margin"]
    document["workload"]["sizes"]["n"] = 1.5
    assert refusal(document, policy).splitlines() == [
        f"{NAME}: margin is missing, expected a ratio between 0 and 1, such as 0.01",
        f"{NAME}: workload.sizes.n is 1.5 (float), expected an integer of at least 0",
    ]


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_claim_that_is_no_mapping_is_refused(root, policy, document):
    assert refusal(document, policy).endswith("expected a mapping")


def test_good_claim_is_frozen_whole(root, document, policy):
    frozen = json.loads(
        freeze_claim.freeze("config/claims/triad-vec4.yaml", document, policy)
    )
    assert frozen["claim"] == document
    assert frozen["policy"] == policy
    assert frozen["name"] == "triad-vec4"
    assert frozen["schema"] == "fivegates:frozen_claim/v2"


KINDS = [
    (boundary, regime)
    for boundary in ("device", "launch", "graph", "cold-start", "end-to-end")
    for regime in ("same-buffer", "buffer-rotated", "swept")
    if boundary != "cold-start" or regime == "same-buffer"
]


@pytest.mark.parametrize(("boundary", "regime"), KINDS)
def test_boundary_and_cache_regime_are_frozen_as_claimed(
    root, document, policy, boundary, regime
):
    document["workload"] |= {"boundary": boundary, "cache_regime": regime}
    name = "config/claims/triad-vec4.yaml"
    frozen = json.loads(freeze_claim.freeze(name, document, policy))
    assert frozen["claim"]["workload"] == document["workload"]


def script(path, output, policy):
    arguments = ["--claim", str(path), "--policy", json.dumps(policy)]
    return guarded(lambda: freeze_claim.main([*arguments, "--output", str(output)]))


def test_script_says_one_line_and_writes_nothing(
    root, tmp_path, document, policy, capsys
):
    del document["operation"]
    path, output = tmp_path / "bad.yaml", tmp_path / "results" / "claim.json"
    path.write_text(yaml.safe_dump(document))
    assert script(path, output, policy) == 2
    assert capsys.readouterr().err == (
        f"{path}: operation is missing, expected the name of a folder in kernels/\n"
    )
    assert not output.parent.exists()


def test_yaml_that_cannot_be_read_is_one_line(root, tmp_path, policy, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("claim: [unclosed\nworkload: }")
    assert script(path, tmp_path / "claim.json", policy) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: not YAML: while parsing a flow sequence")


def test_key_that_is_written_twice_is_one_line(root, tmp_path, policy, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("margin: 0.01\nmargin: 0.5\n")
    assert script(path, tmp_path / "claim.json", policy) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: not YAML: key 'margin' is written twice")


def test_claim_may_not_be_named_as_the_store(root, document, policy):
    with pytest.raises(ClaimError, match="'store'"):
        freeze_claim.freeze("config/claims/store.yaml", document, policy)


@pytest.mark.parametrize(
    "key", ["single_samples", "warmup_cap_s", "warmup_tolerance", "rounds"]
)
def test_policy_of_gate_3_is_whole(root, document, policy, key):
    """What version 1 did not know is asked for, not assumed."""
    del policy["timing"][key]
    (line,) = refusal(document, policy).splitlines()
    assert line.startswith(
        f"config/config.yaml: policy.timing.{key} is missing, expected "
    )


def test_policy_is_refused_under_its_own_name(root, document, policy):
    policy["timing"]["sessions"] = 3.0
    assert refusal(document, policy) == (
        "config/config.yaml: policy.timing.sessions is 3.0 (float), "
        "expected an integer from 1 to 99"
    )
