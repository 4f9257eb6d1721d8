"""Real trees verify for ever; whatever is changed in them is found."""

import json
import random
import re
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivegates.cli import main
from fivegates.store import canonical
from fivegates.verify import verify
from trees import (
    EXIT_STATUS,
    NOW,
    OTHERS,
    RECEIPTS,
    SUPPORTED,
    TREES,
    V1_REFUSED,
    V1_SUPPORTED,
    V2_SUPPORTED,
    claim_of,
    copied,
    files,
    receipt_of,
    verified,
)

PLACES = re.compile(rb"/(?:home|root|work|opt)/|site-packages")
ARCHIVES = sorted((RECEIPTS.parent / "archives").iterdir())
# Three of four workloads are slower; a speedup is too near to the margin.
NOT_SUPPORTED = {"row-sum-shapes", "row-sum-half", "row-sum-bfloat16"}


@pytest.mark.parametrize("name", TREES)
def test_committed_tree_verifies(name, capsys):
    assert main(["verify", str(RECEIPTS / name / "receipt.json")]) == EXIT_STATUS[name]
    *block, last = capsys.readouterr().out.splitlines()
    assert block == receipt_of(name)["summary"]
    assert last.startswith("receipt    sha256:")


def test_committed_trees_are_all_tried():
    found = {path.relative_to(RECEIPTS).as_posix() for path in RECEIPTS.glob("*/*")}
    assert found == {*TREES, *OTHERS}


@pytest.mark.parametrize("name", OTHERS)
def test_tree_of_another_operation_verifies(name):
    found = verify(RECEIPTS / name / "receipt.json", NOW)
    assert (found.problems, found.exit_status) == ((), OTHERS[name])


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.name)
def test_archived_tree_verifies_where_it_is_unpacked(path, tmp_path):
    """As a pull request carries it: `tar cJf <claim>.tar.xz results`."""
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    receipt = tmp_path / "results/receipt.json"
    found = verify(receipt, NOW)
    name = json.loads(receipt.read_text())["name"]
    assert (found.problems, found.exit_status) == ((), int(name in NOT_SUPPORTED))
    assert name == path.name.split(".")[0]


def without_views(tree):
    for path in tree.iterdir():
        if path.is_dir() and path.name != "store":
            shutil.rmtree(path)
        elif path.name.startswith("calibration"):
            path.unlink()


@pytest.mark.parametrize("name", TREES)
def test_receipt_alone_with_its_store_verifies(name, tmp_path):
    """What a pull request may carry: the views are for people."""
    tree = copied(name, tmp_path)
    without_views(tree)
    assert verified(tree).exit_status == EXIT_STATUS[name]


@pytest.mark.parametrize("name", TREES)
def test_any_flipped_byte_is_found_and_its_file_named(name, tmp_path):
    tree = copied(name, tmp_path)
    draw = random.Random(0)
    for file in files(name):
        path = tree / file
        data = path.read_bytes()
        position = draw.randrange(len(data))
        flipped = bytes([data[position] ^ (1 << draw.randrange(8))])
        path.write_bytes(data[:position] + flipped + data[position + 1 :])
        verification = verified(tree)
        assert verification.exit_status == 2, (file, position)
        assert any(str(path) in problem for problem in verification.problems), file
        path.write_bytes(data)
    assert verified(tree).exit_status == EXIT_STATUS[name]


@pytest.mark.parametrize("name", TREES)
def test_any_flipped_byte_of_the_receipt_is_found(name, tmp_path):
    """Also where no other copy of the receipt lies beside it."""
    tree = copied(name, tmp_path)
    (tree / claim_of(name) / "receipt.json").unlink()
    path = tree / "receipt.json"
    data = path.read_bytes()
    draw = random.Random(1)
    for position in draw.sample(range(len(data)), 150):
        flipped = bytes([data[position] ^ (1 << draw.randrange(8))])
        path.write_bytes(data[:position] + flipped + data[position + 1 :])
        assert verified(tree).exit_status == 2, position


@pytest.mark.parametrize("name", TREES)
def test_any_file_missing_from_the_store_is_found(name, tmp_path):
    tree = copied(name, tmp_path)
    for item in receipt_of(name)["evidence"]:
        digest = item["sha256"]
        path = tree / "store" / "sha256" / digest[:2] / digest[2:]
        hidden = path.rename(path.with_suffix(".hidden"))
        problems = verified(tree).problems
        assert any(f"{path} is missing" in problem for problem in problems), item
        hidden.rename(path)


@pytest.mark.parametrize("name", TREES)
def test_record_left_out_of_the_evidence_is_found(name, tmp_path):
    """No fewer records make a better claim, whatever the receipt then lists."""
    tree = copied(name, tmp_path)
    without_views(tree)
    receipt = receipt_of(name)
    for item in receipt["evidence"]:
        if Path(item["name"]).suffix != ".json" or ".raw/" in item["name"]:
            continue
        left = [other for other in receipt["evidence"] if other != item]
        changed = canonical({**receipt, "evidence": left})
        (tree / "receipt.json").write_bytes(changed)
        verification = verified(tree)
        assert verification.exit_status == 2, item["name"]


@pytest.mark.parametrize("name", TREES)
def test_raw_file_left_out_of_the_evidence_is_found(name, tmp_path):
    tree = copied(name, tmp_path)
    without_views(tree)
    receipt = receipt_of(name)
    raw = [item for item in receipt["evidence"] if ".raw/" in item["name"]]
    for item in random.Random(2).sample(raw, 6):
        left = [other for other in receipt["evidence"] if other != item]
        changed = canonical({**receipt, "evidence": left})
        (tree / "receipt.json").write_bytes(changed)
        assert verified(tree).exit_status == 2, item["name"]


@pytest.mark.parametrize("name", TREES)
def test_file_that_no_record_lists_is_found(name, tmp_path):
    tree = copied(name, tmp_path)
    notes = tree / claim_of(name) / "notes.txt"
    notes.write_text("really 2x")
    (problem,) = verified(tree).problems
    assert problem == f"{notes}: not listed in the receipt, expected no such file"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d[: len(d) * 7 // 10], "not JSON: "),
        (
            lambda d: d.replace(b"\n", b"\r\n"),
            "not canonical JSON, expected sorted keys",
        ),
        (lambda _: b"", "not JSON: Expecting value"),
        (lambda d: d[:-1], "not canonical JSON"),
        (lambda _: b"[]\n", "the document is [] (list)"),
    ],
    ids=["cut", "CRLF", "empty", "no last line end", "not a receipt"],
)
def test_receipt_that_cannot_be_read_is_one_clear_error(
    tmp_path, capsys, spoil, message
):
    tree = copied(V1_SUPPORTED, tmp_path)
    path = tree / "receipt.json"
    path.write_bytes(spoil(path.read_bytes()))
    assert main(["verify", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}: {message}" in error
    assert error.endswith("receipt    invalid\n")


def test_missing_receipt_and_missing_store_are_told_apart(tmp_path):
    missing = verify(tmp_path / "none.json", NOW)
    assert missing.problems == (
        f"{tmp_path / 'none.json'}: No such file or directory, "
        "expected a readable file",
    )
    alone = tmp_path / "receipt.json"
    alone.write_bytes((RECEIPTS / V2_SUPPORTED / "receipt.json").read_bytes())
    assert verify(alone, NOW).problems == (
        f"{alone}: no store/sha256 beside it or above, expected the store",
    )


@pytest.mark.parametrize("name", TREES)
def test_receipt_from_the_future_is_found(name):
    """corpus G10"""
    path = RECEIPTS / name / "receipt.json"
    early = datetime(2020, 1, 1, tzinfo=UTC)
    problems = verify(path, early).problems
    assert len(problems) == 1
    assert problems[0].endswith(", in the future")


@pytest.mark.parametrize("name", SUPPORTED)
def test_verification_changes_nothing(name, tmp_path):
    tree = copied(name, tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    verified(tree)
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == before


@pytest.mark.parametrize("file", ["calibration.json", "calibration.raw/rounds.csv"])
def test_edited_calibration_is_named(file, tmp_path):
    """Nobody mended a digest: the file is named by its path."""
    tree = copied(V2_SUPPORTED, tmp_path)
    path = tree / file
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    (problem,) = verified(tree).problems
    assert problem.startswith(f"{path}: sha256 ")


def test_calibration_that_the_receipt_does_not_cite_is_no_evidence(tmp_path):
    """What lies beside a claim's folder may be of another receipt."""
    tree = copied(V1_SUPPORTED, tmp_path)
    (tree / "calibration.json").write_text("{}")
    assert verified(tree).exit_status == 0


def test_receipt_edited_alone_is_not_the_receipt_of_its_evidence(tmp_path):
    tree = copied(V1_REFUSED, tmp_path)
    receipt = receipt_of(V1_REFUSED)
    receipt["verdict"]["status"] = "inconclusive"
    folder = tree / claim_of(V1_REFUSED)
    for path in (tree / "receipt.json", folder / "receipt.json"):
        path.write_bytes(canonical(receipt))
    assert verified(tree).problems[0] == (
        f"{tree / 'receipt.json'}: verdict.status is 'inconclusive', expected 'refused'"
    )


@pytest.mark.parametrize("name", SUPPORTED)
def test_path_that_leaves_the_tree_is_refused(name, tmp_path):
    tree = copied(name, tmp_path)
    receipt = receipt_of(name)
    receipt["evidence"][0]["name"] = "../../etc/passwd"
    (tree / "receipt.json").write_bytes(canonical(receipt))
    (problem,) = verified(tree).problems
    assert problem == (
        f"{tree / 'receipt.json'}: evidence[0].name is '../../etc/passwd' (str), "
        "expected a relative path without .."
    )


def committed():
    """Each file of a committed tree, unpacked or archived: its name and bytes."""
    for name in (*TREES, *OTHERS):
        for file in files(name):
            yield file, (RECEIPTS / name / file).read_bytes()
    for path in ARCHIVES:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member).read()


def test_committed_evidence_names_no_place_of_its_machine():
    """But for cubins: their line numbers name where the toolkit's headers lie."""
    for file, text in committed():
        if text.startswith(b"\x7fELF"):
            continue
        found = PLACES.search(text)
        assert found is None or Path(file).suffix == ".py", (file, found[0])
