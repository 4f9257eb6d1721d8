"""Every operation has faults that its gates refuse, and arms that they do not."""

import json

import pytest

import mutation
import seeds
from conftest import ROOT
from fivegates import sanitizer
from fivegates.arm import ROLES
from mutation import Mutant, frozen, mutants, mutated_operations, refused_by, tried

RESULTS = ROOT / "benchmarks/results/mutants.json"
ON_DEVICE = ROOT / "benchmarks/results/mutants_on_device"
OPERATIONS = sorted(path.parent.name for path in ROOT.glob("kernels/*/operation.py"))
SEEDS = ROOT / "benchmarks/results/seeds.json"
ARMS = [(claim, role) for claim in seeds.claims() for role in ROLES]


def test_every_operation_has_at_least_twelve_mutants_of_more_than_one_gate():
    assert mutated_operations() == OPERATIONS
    for operation in OPERATIONS:
        listed = mutants(operation)
        assert len({m.name for m in listed}) == len(listed) >= 12
        edits = {(m.claim, m.source(), tuple(m.block)) for m in listed}
        assert len(edits) == len(listed)
        assert {m.role for m in listed} == {"baseline", "candidate"}
        assert len({m.gate for m in listed}) > 1


def test_committed_matrix_is_of_these_mutants_and_none_survived():
    rows = json.loads(RESULTS.read_text())
    listed = [m for operation in OPERATIONS for m in mutants(operation)]
    for row, mutant in zip(rows, listed, strict=True):
        assert {key: row[key] for key in mutant.identity()} == mutant.identity()
        assert row["refused_by"] == row["expected"] == mutant.gate, row


def test_fault_is_an_edit_or_a_block():
    neither = {"operation": "triad", "claim": "triad-vec4", "name": "none"}
    with pytest.raises(ValueError, match="expected one of them") as error:
        Mutant(**neither, role="baseline", gate="reference")
    assert str(error.value) == (
        "triad/none: old is '' and block (), expected one of them"
    )


def test_no_correct_arm_was_refused_in_twenty_seeds():
    rows = json.loads(SEEDS.read_text())
    for row, (claim, role) in zip(rows, ARMS, strict=True):
        identity = seeds.identity(claim, role)
        assert {key: row[key] for key in identity} == identity
        assert row["seeds"] >= 20
        assert row["refused"] == {}


@pytest.mark.parametrize(
    "path", sorted(ON_DEVICE.iterdir()), ids=lambda path: path.stem
)
def test_recorded_run_on_a_device_says_why_each_mutant_was_refused(path):
    """What it let through is in a table of docs/operations.md."""
    document = json.loads(path.read_text())
    assert document["device"].startswith("NVIDIA ")
    gates = {"reference", *sanitizer.TOOLS}
    assert {row["refused_by"] for row in document["rows"]} <= {
        *gates,
        mutation.SURVIVED,
    }
    by_edit = {row["source_sha256"]: row["refused_by"] for row in document["rows"]}
    for row in document["rows"]:
        assert row["operation"] == path.stem
        assert row["refused_by"] == by_edit[row["source_sha256"]], "dtypes differ"
        assert bool(row["said"]) == (row["refused_by"] in gates), row


@pytest.mark.parametrize("operation", OPERATIONS)
def test_first_mutant_of_each_operation_is_refused_here_too(operation):
    row = tried(mutants(operation)[0])
    assert row["refused_by"] == row["expected"], row["said"]


@pytest.mark.parametrize(("name", "role"), ARMS)
def test_correct_arm_is_not_refused(name, role):
    source = (ROOT / frozen(name).arms[role].source).read_text()
    assert refused_by(frozen(name), role, source) == (mutation.SURVIVED, "")


def test_mutant_that_survives_fails_the_command(monkeypatch, capsys):
    """The same guard in other words is no fault."""
    harmless = Mutant(
        operation="triad",
        claim="triad-vec4",
        name="reworded",
        role="baseline",
        old="if (i < n)",
        new="if (n > i)",
        gate="reference",
    )
    monkeypatch.setattr(mutation, "mutants", lambda _: [harmless])
    monkeypatch.setattr("sys.argv", ["mutation.py", "triad"])
    assert mutation.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "triad        reworded                     -           UNEXPECTED ",
        "1 mutants, 1 survived",
    ]


@pytest.mark.parametrize("command", [mutation, seeds])
def test_name_that_is_not_known_ends_a_command_with_one_line(
    command, monkeypatch, capsys
):
    monkeypatch.setattr("sys.argv", ["command", "tirad"])
    with pytest.raises(SystemExit):
        command.main()
    line = capsys.readouterr().err.splitlines()[-1]
    assert "error: found 'tirad', expected some of compact" in line


def test_edit_that_has_no_place_or_two_is_an_error():
    listed = mutants("triad")[0]
    lost = Mutant(
        operation="triad",
        claim=listed.claim,
        name="lost",
        role="candidate",
        old="fmaf(",
        new="",
        gate="reference",
    )
    with pytest.raises(ValueError, match=r"triad/lost: 'fmaf\(' is 5 times in vec4.cu"):
        lost.source()


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import operations_page

    return operations_page


def test_page_shows_what_is_committed(page):
    text = page.PAGE.read_text()
    assert page.rendered(text) == text


def test_page_says_which_receipts_are_of_older_sources(page):
    (receipt,) = (r for r in page.receipts() if r["name"] == "compact-block")
    assert page.sources(receipt) == "these"
    for artifact in receipt["evidence"]:
        if artifact["name"] == "kernels/compact/block.cu":
            artifact["sha256"] = "0" * 64
    assert page.sources(receipt) == "older block.cu"


def test_page_does_not_count_a_mutant_of_another_source_as_tried(
    page, monkeypatch, tmp_path
):
    rows = page.matrix()
    assert {row["on_device"] for row in rows} != {page.UNTRIED}
    edited = tmp_path / "mutants.json"
    edited.write_text(json.dumps([{**row, "source_sha256": "0" * 64} for row in rows]))
    monkeypatch.setattr(page, "MATRIX", edited)
    assert {row["on_device"] for row in page.matrix()} == {page.UNTRIED}
