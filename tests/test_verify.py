"""Real trees verify for ever; whatever is changed in them is found."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fivegates.cli import main
from fivegates.errors import EvidenceError
from fivegates.store import canonical
from fivegates.verify import verify
from trees import (
    NOW,
    RECEIPTS,
    REFUSED,
    SUPPORTED,
    copied,
    forge,
    verified,
)

EXIT_STATUS = {SUPPORTED: 0, REFUSED: 1}
TREES = list(EXIT_STATUS)


def files(name):
    return sorted(
        path.relative_to(RECEIPTS / name).as_posix()
        for path in (RECEIPTS / name).rglob("*")
        if path.is_file()
    )


@pytest.mark.parametrize("name", TREES)
def test_committed_tree_verifies(name, capsys):
    assert main(["verify", str(RECEIPTS / name / "receipt.json")]) == EXIT_STATUS[name]
    receipt = json.loads((RECEIPTS / name / "receipt.json").read_text())
    *block, last = capsys.readouterr().out.splitlines()
    assert block == receipt["summary"]
    assert last.startswith("receipt    sha256:")


def test_committed_trees_are_all_tried():
    assert {path.name for path in RECEIPTS.iterdir()} == set(TREES)


@pytest.mark.parametrize("name", TREES)
def test_receipt_alone_with_its_store_verifies(name, tmp_path):
    """What a pull request may carry: the views are for people."""
    tree = copied(name, tmp_path)
    for path in sorted((tree / name).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
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
    (tree / name / "receipt.json").unlink()
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
    receipt = json.loads((tree / "receipt.json").read_text())
    for item in receipt["evidence"]:
        digest = item["sha256"]
        path = tree / "store" / "sha256" / digest[:2] / digest[2:]
        hidden = path.rename(path.with_suffix(".hidden"))
        problems = verified(tree).problems
        assert any(f"{path} is missing" in problem for problem in problems), item
        hidden.rename(path)


def test_file_that_no_record_lists_is_found(tmp_path):
    tree = copied(SUPPORTED, tmp_path)
    (tree / SUPPORTED / "notes.txt").write_text("really 2x")
    (problem,) = verified(tree).problems
    assert problem == (
        f"{tree / SUPPORTED / 'notes.txt'}: not listed in the receipt, "
        "expected no such file"
    )


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
    tree = copied(SUPPORTED, tmp_path)
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
    alone.write_bytes((RECEIPTS / SUPPORTED / "receipt.json").read_bytes())
    assert verify(alone, NOW).problems == (
        f"{alone}: no store/sha256 beside it or above, expected the store",
    )


def test_receipt_from_the_future_is_found():
    """corpus G10"""
    path = RECEIPTS / SUPPORTED / "receipt.json"
    early = datetime(2020, 1, 1, tzinfo=UTC)
    problems = verify(path, early).problems
    assert len(problems) == 1
    assert problems[0].endswith(", in the future")


def test_verification_changes_nothing(tmp_path):
    tree = copied(SUPPORTED, tmp_path)
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    verified(tree)
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == before


def edit(*path, value):
    """Change that sets one field of a document."""

    def change(document):
        inner = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return document

    return change


def passed(document):
    document["verdict"] = {"status": "pass", "reason": "passed", "message": "0 errors"}
    return document


def faster_candidate(data):
    """Divide every time of the candidate by two, in the raw samples."""
    lines = data.decode().splitlines()
    for index, line in enumerate(lines):
        cells = line.split(",")
        if cells[0] == "main" and cells[3] == "candidate":
            cells[-1] = repr(float(cells[-1]) / 2)
            lines[index] = ",".join(cells)
    return ("\n".join(lines) + "\n").encode()


def racecheck_of_baseline():
    """A clean run of the right kind, made of the other arm."""
    path = RECEIPTS / REFUSED / REFUSED / "baseline/sanitizer/racecheck.json"
    return json.loads(path.read_text())["result"]


def swapped_binaries(document):
    used = document["result"]["measured"]["binaries"]
    used["candidate"] = "0" * 64
    return document


FORGED = {
    "speedup": (
        SUPPORTED,
        "timing.json",
        edit("result", "derived", "round_speedup_median", value=1.8),
        "timing.json: result.derived.round_speedup_median is 1.8, expected 1.1",
    ),
    "ninth digit": (
        SUPPORTED,
        "roofline.json",
        lambda d: edit(
            "result",
            "derived",
            "copy_gb_s",
            value=d["result"]["derived"]["copy_gb_s"] * (1 + 2e-8),
        )(d),
        "roofline.json: result.derived.copy_gb_s is ",
    ),
    "raw samples": (
        SUPPORTED,
        "timing/s02.raw/samples.csv",
        faster_candidate,
        "timing.json: result.derived.",
    ),
    "samples shuffled": (
        SUPPORTED,
        "timing/s01.raw/samples.csv",
        lambda d: b"\n".join([d.split(b"\n")[0], *d.split(b"\n")[:0:-1][1:], b""]),
        "s01/samples.csv: row 2: ",
    ),
    "samples dropped": (
        SUPPORTED,
        "timing/s01.raw/samples.csv",
        lambda d: d[: d.rstrip().rfind(b"\n") + 1],
        "s01/samples.csv: 1599 samples, expected 1600",
    ),
    "another binary timed": (
        SUPPORTED,
        "timing/s03.json",
        swapped_binaries,
        f"timing/s03: ran binary {'0' * 64} as candidate, expected ",
    ),
    "failure overlooked": (
        SUPPORTED,
        "candidate/reference.json",
        lambda d: edit(
            "result", "measured", "cases", 3, "outputs", "y", "failures", value=1
        )(d),
        "candidate/reference.json: ",
    ),
    "memcheck waved through": (
        REFUSED,
        "candidate/sanitizer/memcheck.json",
        passed,
        "candidate/sanitizer/memcheck.json: verdict is pass (passed): 0 errors, "
        "expected",
    ),
    "log cleaned": (
        REFUSED,
        "candidate/sanitizer/memcheck.raw/memcheck.txt",
        lambda _: b"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n",
        "candidate/sanitizer/memcheck.json: result.derived.runs[0].",
    ),
    "gate let in": (
        REFUSED,
        "candidate/sanitizer/racecheck.json",
        lambda d: {**passed(d), "result": racecheck_of_baseline()},
        "candidate/sanitizer/racecheck.json: verdict is pass (passed): 0 errors, "
        "expected",
    ),
    "dates out of order": (
        SUPPORTED,
        "timing.json",
        edit("run", "finished_at", value="2020-01-01T00:00:00.000Z"),
        "timing: started ",
    ),
    "claim of another": (
        SUPPORTED,
        "timing/s01.json",
        edit("claim", value="0" * 64),
        "timing/s01.json: made for another claim.json",
    ),
    "arm of another": (
        SUPPORTED,
        "candidate/build.json",
        edit("subject", "candidate", value="0" * 64),
        "candidate/build.json: subject candidate is not its source.json",
    ),
    "input left out": (
        SUPPORTED,
        "timing/s01.json",
        lambda d: {
            **d,
            "inputs": [i for i in d["inputs"] if "memcheck" not in i["name"]],
        },
        "timing/s01.json: was not given baseline/sanitizer/memcheck",
    ),
    "source left out": (
        SUPPORTED,
        "candidate/reference.json",
        lambda d: {
            **d,
            "inputs": [i for i in d["inputs"] if "source" not in i["name"]],
        },
        "candidate/reference.json: was not given candidate/source",
    ),
    "arm left out": (
        SUPPORTED,
        "timing.json",
        edit("subject", value={}),
        "timing.json: subject is [], expected ('baseline', 'candidate')",
    ),
    "arms exchanged": (
        SUPPORTED,
        "candidate/source.json",
        edit("role", value="baseline"),
        "candidate/source.json: role is 'baseline', expected 'candidate'",
    ),
    "contract left out": (
        SUPPORTED,
        "candidate/source.json",
        lambda d: {**d, "files": d["files"][:1]},
        "candidate/source.json: files are ['kernels/triad/vec4.cu'], expected ",
    ),
    "no case": (
        SUPPORTED,
        "candidate/reference.json",
        edit("result", "measured", "cases", value=[]),
        "reference: no case has the timed sizes, expected one",
    ),
    "one launch": (
        SUPPORTED,
        "candidate/reference.json",
        edit("result", "measured", "cases", 5, "launches", value=1),
        "reference: n=1000003, seed=7, lab: 1 launches, expected 10",
    ),
    "another device timed": (
        SUPPORTED,
        "timing/s02.json",
        edit("result", "measured", "facts", "gpu_uuid", value="GPU-another"),
        "s02: measured on GPU-another, expected GPU-",
    ),
    "no slot checked": (
        SUPPORTED,
        "timing/s02.json",
        edit("result", "measured", "facts", "checked_slots", value=0),
        "s02: checked_slots is 0, expected 1536",
    ),
    "an arm not checked": (
        SUPPORTED,
        "timing/s02.json",
        edit("result", "measured", "facts", "failed_elements", value={}),
        "s02: failed_elements is {}, expected ",
    ),
    "not warm": (
        SUPPORTED,
        "timing/s02.json",
        edit("result", "measured", "facts", "warmup_launches", value=3),
        "s02: warmup_launches is 3, expected at least 24",
    ),
    "not rotated": (
        SUPPORTED,
        "timing/s02.json",
        edit("result", "measured", "facts", "working_set_bytes", value=12),
        "s02: working_set_bytes is 12, expected at least ",
    ),
    "one session three times": (
        SUPPORTED,
        "timing/s02.raw/samples.csv",
        lambda _: (
            RECEIPTS / SUPPORTED / SUPPORTED / "timing/s01.raw/samples.csv"
        ).read_bytes(),
        "timing: two sessions have the same samples.csv",
    ),
    "session before its gates": (
        SUPPORTED,
        "timing/s01.json",
        edit("run", "started_at", value="2020-01-01T00:00:00.000Z"),
        "timing/s01: started 2020-01-01T00:00:00.000Z, finished ",
    ),
    "nothing launched": (
        SUPPORTED,
        "candidate/sanitizer/racecheck.json",
        edit("result", "measured", "runs", 0, "launches", value=0),
        "sanitizer racecheck: no launch was checked",
    ),
    "tool not run": (
        SUPPORTED,
        "candidate/sanitizer/racecheck.json",
        edit("result", "measured", "runs", 0, "command", value=["true"]),
        "sanitizer racecheck: command is true, expected compute-sanitizer --tool",
    ),
    "second run hidden": (
        SUPPORTED,
        "candidate/sanitizer/racecheck.json",
        lambda d: edit(
            "result",
            "measured",
            "runs",
            value=d["result"]["measured"]["runs"] * 2,
        )(d),
        "sanitizer racecheck: runs are ('racecheck', 'racecheck'), expected ",
    ),
    "option not built with": (
        SUPPORTED,
        "candidate/build.json",
        edit("result", "measured", "flags", value=["-lineinfo"]),
        "candidate/build: built without --std=c++17",
    ),
    "harness of nothing": (
        SUPPORTED,
        "harness.json",
        edit("files", value=[]),
        "harness.json: files is [] (list)",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_forger_who_mends_every_digest_is_caught_by_derivation(what, tmp_path):
    name, file, change, message = FORGED[what]
    tree = copied(name, tmp_path)
    try:
        forge(tree, file, change)
    except EvidenceError as error:
        # Not even a forger's receipt can be built of it.
        assert message in str(error)  # noqa: PT017
        return
    verification = verified(tree)
    assert verification.exit_status == 2
    assert any(message in problem for problem in verification.problems), (
        verification.problems
    )


def test_control_made_of_another_tools_logs_is_no_control(tmp_path):
    tree = copied(SUPPORTED, tmp_path)
    controls = RECEIPTS / SUPPORTED / SUPPORTED / "control"
    for kind in ("txt", "xml"):
        theirs = (controls / f"memcheck.raw/memcheck.{kind}").read_bytes()
        file = f"control/racecheck.raw/racecheck.{kind}"
        forge(tree, file, lambda _, data=theirs: data)
    problems = verified(tree).problems
    assert any("control/racecheck.json: verdict is" in p for p in problems), problems


def test_forging_nothing_leaves_a_valid_tree(tmp_path):
    """The forger's own control: what is caught above is the change, not the mending."""
    for name in TREES:
        tree = copied(name, tmp_path)
        forge(tree, "timing.json", lambda d: d)
        assert verified(tree).exit_status == EXIT_STATUS[name]


def test_receipt_edited_alone_is_not_the_receipt_of_its_evidence(tmp_path):
    tree = copied(REFUSED, tmp_path)
    receipt = json.loads((tree / "receipt.json").read_text())
    receipt["verdict"]["status"] = "inconclusive"
    for path in (tree / "receipt.json", tree / REFUSED / "receipt.json"):
        path.write_bytes(canonical(receipt))
    assert verified(tree).problems[0] == (
        f"{tree / 'receipt.json'}: verdict.status is 'inconclusive', expected 'refused'"
    )


def test_path_that_leaves_the_tree_is_refused(tmp_path):
    tree = copied(SUPPORTED, tmp_path)
    receipt = json.loads((tree / "receipt.json").read_text())
    receipt["evidence"][0]["name"] = "../../etc/passwd"
    (tree / "receipt.json").write_bytes(canonical(receipt))
    (problem,) = verified(tree).problems
    assert problem == (
        f"{tree / 'receipt.json'}: evidence[0].name is '../../etc/passwd' (str), "
        "expected a relative path without .."
    )


def test_committed_evidence_names_no_place_of_its_machine():
    for name in TREES:
        for file in files(name):
            text = (RECEIPTS / name / file).read_bytes()
            for place in (b"/home/", b"/root/", b"/work/", b"/opt/", b"site-packages"):
                assert place not in text or Path(file).suffix == ".py", (file, place)
