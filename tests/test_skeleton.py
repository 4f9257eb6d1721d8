"""`fivegates new` writes what runs as it is, and overwrites nothing."""

import json

import pytest
import yaml

from conftest import snakemake
from fivegates.cli import main


@pytest.fixture
def checkout(tree, monkeypatch):
    monkeypatch.chdir(tree)
    return tree


def test_new_operation_and_claim_pass_the_gates_as_written(checkout, capsys):
    assert main(["new", "operation", "doubled"]) == 0
    assert main(["new", "claim", "doubled-fast", "--operation", "doubled"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "kernels/doubled/operation.py",
        "kernels/doubled/plain.cu",
        "config/claims/doubled-fast.yaml",
        "kernels/doubled/doubled_fast.cu",
    ]
    done = snakemake(checkout, "results/receipt.json", "--config", "claim=doubled-fast")
    assert done.returncode == 0, done.stdout
    receipt = json.loads((checkout / "results/receipt.json").read_text())
    gates = {gate["name"]: gate["status"] for gate in receipt["gates"]}
    looked_at = [s for name, s in gates.items() if not name.startswith("timing")]
    assert looked_at.count("pass") == len(looked_at) - 1, gates


def test_new_claim_follows_the_first_of_float32_about_its_operation(checkout):
    assert main(["new", "claim", "sum-mine", "--operation", "row_sum"]) == 0
    mine = yaml.safe_load((checkout / "config/claims/sum-mine.yaml").read_text())
    first = (checkout / "config/claims/row-sum-warp.yaml").read_text()
    theirs = yaml.safe_load(first)
    for field in ("baseline", "workload", "tolerance", "margin"):
        assert mine[field] == theirs[field]
    assert mine["candidate"] == {
        **theirs["baseline"],
        "source": "kernels/row_sum/sum_mine.cu",
        "entry": "sum_mine",
    }


def test_first_claim_is_made_from_the_contract(checkout):
    """Rewritten before there is a claim: sizes, operands and tolerance are its own."""
    assert main(["new", "operation", "row_scale"]) == 0
    theirs = (checkout / "kernels/row_sum/operation.py").read_text()
    (checkout / "kernels/row_scale/operation.py").write_text(theirs)
    assert main(["new", "claim", "scale-fast", "--operation", "row_scale"]) == 0
    file = checkout / "config/claims/scale-fast.yaml"
    made = yaml.safe_load(file.read_text())
    assert made["workload"]["sizes"] == {"rows": 1021, "cols": 1021}
    assert made["tolerance"] == {"atol": 0.0, "rtol": 16 * 2.0**-24}
    assert made["baseline"]["grid"] == ["rows"]
    assert made["baseline"]["arguments"] == ["x", "y", "uint64 rows", "uint64 cols"]
    frozen = "results/scale-fast/claim.json"
    done = snakemake(checkout, frozen, "--config", "claim=scale-fast")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["operation", "triad"],
            "kernels/triad/operation.py: exists, expected a new name",
        ),
        (
            ["operation", "Row-Sum"],
            "'Row-Sum': no name of an operation, expected lower case letters, digits "
            "and _, such as row_sum",
        ),
        (
            ["claim", "triad-vec4", "--operation", "triad"],
            "config/claims/triad-vec4.yaml: exists, expected a new name",
        ),
        (
            ["claim", "../x", "--operation", "triad"],
            "'../x': no name of a claim, expected a lower case letter, then letters, "
            "digits and -, such as row-sum-warp",
        ),
    ],
)
def test_nothing_is_overwritten(checkout, capsys, words, error):
    before = {p: p.read_bytes() for p in checkout.rglob("*.*") if p.is_file()}
    assert main(["new", *words]) == 2
    assert capsys.readouterr().err == f"{error}\n"
    assert {p: p.read_bytes() for p in checkout.rglob("*.*") if p.is_file()} == before
