"""A claim about several workloads: a verdict for each, and no average."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from conftest import snakemake
from fivegates.cli import main
from fivegates.errors import ArtifactError, ClaimError
from fivegates.portfolio import build, singled_out
from fivegates.verify import verify
from trees import RECEIPTS, V2_SUPPORTED

WORKLOADS = ["odd", "small", "wide"]
PORTFOLIO = {"workloads": WORKLOADS, "sha256": "a" * 64}


@pytest.fixture
def receipts():
    """Three workloads made from the committed receipt of one."""
    text = (RECEIPTS / V2_SUPPORTED / "receipt.json").read_text()
    made = {}
    for number, name in enumerate(WORKLOADS):
        document = json.loads(text)
        document |= {"name": f"triad-vec4--{name}", "portfolio": dict(PORTFOLIO)}
        document["workload"]["sizes"] = {"n": 1000 + number}
        made[name] = (f"{number:064x}", document)
    return made


def decided(receipt, status, reason, message):
    receipt["verdict"] = {"status": status, "reason": reason, "message": message}
    if status == "refused":
        del receipt["result"]


def test_all_supported_is_supported(receipts):
    found = build(receipts)
    assert found["name"] == "triad-vec4"
    assert found["verdict"] == {
        "status": "supported",
        "reason": "faster",
        "message": "3 of 3 workloads supported",
    }
    assert [row["name"].partition("--")[2] for row in found["workloads"]] == WORKLOADS
    speedup = receipts["odd"][1]["result"]["speedup"]
    assert found["summary"][1] == (
        f"odd        supported    n=1000: candidate is faster; speedup "
        f"{speedup['estimate']:.4g} [{speedup['lower']:.4g}, {speedup['upper']:.4g}]"
    )
    assert found["summary"][-1] == (
        "verdict    supported    provisional; 3 of 3 workloads supported"
    )


@pytest.mark.parametrize(
    ("status", "reason", "message"),
    [
        ("refused", "tolerance-exceeded", "candidate/reference: n=3: 1 of 3"),
        ("not-supported", "slower", "candidate is slower"),
        ("inconclusive", "order-effect", "timing: block order matters"),
    ],
)
def test_one_that_fails_is_not_hidden_by_the_others(receipts, status, reason, message):
    decided(receipts["small"][1], status, reason, message)
    found = build(receipts)
    assert found["verdict"] == {
        "status": status,
        "reason": reason,
        "message": f"2 of 3 workloads supported; small: {message}",
    }
    row = found["workloads"][1]
    assert (row["name"], row["verdict"]["message"]) == ("triad-vec4--small", message)
    assert (row["speedup"] is None) == (status == "refused")
    assert message in found["summary"][2]


def test_worst_decides(receipts):
    decided(receipts["odd"][1], "inconclusive", "no-device", "a")
    decided(receipts["small"][1], "not-supported", "slower", "b")
    assert build(receipts)["verdict"]["status"] == "not-supported"
    decided(receipts["wide"][1], "refused", "memory-error", "c")
    assert build(receipts)["verdict"]["status"] == "refused"


def test_confirmed_only_when_all_are(receipts):
    receipts["odd"][1]["status"] = "confirmed"
    assert build(receipts)["status"] == "provisional"
    for _, document in receipts.values():
        document["status"] = "confirmed"
    assert build(receipts)["status"] == "confirmed"


def test_workload_that_is_left_out_is_missed(receipts):
    del receipts["wide"]
    with pytest.raises(ArtifactError) as error:
        build(receipts)
    assert str(error.value) == (
        "triad-vec4--odd: is one of triad-vec4--odd, triad-vec4--small, "
        "triad-vec4--wide, expected one of triad-vec4--odd, triad-vec4--small"
    )


def test_receipts_of_other_kernels_do_not_go_together(receipts):
    receipts["wide"][1]["source"]["file_sha256"] = "0" * 64
    with pytest.raises(ArtifactError) as error:
        build(receipts)
    assert str(error.value) == (
        "triad-vec4--wide: source.file_sha256 differs from that of triad-vec4--odd, "
        "expected the same. Judge them together"
    )


def test_parts_of_claims_that_say_other_things_do_not_go_together(receipts):
    """A looser tolerance, another seed or policy, or another device."""
    receipts["wide"][1]["portfolio"]["sha256"] = "b" * 64
    with pytest.raises(ArtifactError, match="wide: portfolio differs from that of"):
        build(receipts)
    receipts["wide"][1]["portfolio"]["sha256"] = "a" * 64
    receipts["wide"][1]["hardware"]["gpu_uuid"] = "GPU-0"
    with pytest.raises(ArtifactError, match=r"wide: hardware\.gpu_uuid differs from"):
        build(receipts)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"workload": {}}, "has workload and workloads, expected one of them"),
        (
            {"workloads": {"a": {}}},
            "workloads: expected a mapping of at least two names",
        ),
        ({"workloads": [1, 2]}, "workloads: expected a mapping of at least two names"),
        (
            {"workloads": {"a": {}, "a-b": {}}},
            "workloads: 'a-b' is no name of a workload, expected lower case letters "
            "and digits",
        ),
    ],
)
def test_list_of_workloads_that_is_none_is_one_error(change, error):
    document = {"claim": "x", "workloads": {"a": {}, "b": {}}, **change}
    with pytest.raises(ClaimError) as raised:
        singled_out(document, "config/claims/x.yaml")
    assert str(raised.value) == f"config/claims/x.yaml: {error}"


@pytest.fixture
def judged(tree):
    """A portfolio of two small workloads, judged by the pipeline on this machine."""
    path = tree / "config/claims/triad-vec4.yaml"
    claim = yaml.safe_load(path.read_text())
    workload = claim.pop("workload")
    claim["workloads"] = {
        name: {**workload, "sizes": {"n": n}, "cache_regime": "same-buffer"}
        for name, n in (("odd", 1021), ("small", 64))
    }
    (tree / "config/claims/triad-two.yaml").write_text(yaml.safe_dump(claim))
    done = snakemake(
        tree, "results/receipt.json", "--config", "claim=triad-two", "backend=host"
    )
    assert done.returncode == 0, done.stdout
    return tree


def test_pipeline_judges_each_workload_and_verify_each_receipt(judged, capsys):
    path = judged / "results/receipt.json"
    assert main(["verify", str(path)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("odd        inconclusive n=1021: passed on the host")
    assert lines[2].startswith("small      inconclusive n=64: passed on the host")
    now = datetime.now(UTC)
    part = judged / "results/triad-two--small/receipt.json"
    assert verify(part, now).problems == ()
    receipt = json.loads(part.read_text())
    assert receipt["portfolio"]["workloads"] == ["odd", "small"]
    assert receipt["summary"][1] == (
        "workload   one of odd, small; the claim is judged by all of them"
    )
    changed = path.read_text().replace(
        '"status": "inconclusive"', '"status": "refused"'
    )
    path.write_text(changed)
    assert verify(path, now).problems == (
        f"{path}: not what its receipts say together",
    )
    whole = part.read_bytes()
    part.write_bytes(path.read_bytes())
    (problem,) = verify(path, now).problems
    assert problem.startswith(f"{part}: ")
    part.write_bytes(whole)
    part.unlink()
    (problem,) = verify(path, now).problems
    assert problem == f"{part}: No such file or directory, expected a readable file"
