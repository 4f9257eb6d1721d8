"""Whoever changes a tree and mends every digest is caught by derivation."""

import json
import re
import shutil
from dataclasses import asdict

import pytest

from fivegates.cli import main
from fivegates.errors import EvidenceError
from fivegates.store import Store, canonical
from trees import (
    EXIT_STATUS,
    SUPPORTED,
    TREES,
    V1_REFUSED,
    V1_SUPPORTED,
    V2_RACY,
    V2_SUPPORTED,
    add_session,
    claim_of,
    copied,
    forge,
    forge_all,
    mend,
    moved,
    verified,
    views,
)


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
    path = views(V1_REFUSED) / "baseline/sanitizer/racecheck.json"
    return json.loads(path.read_text())["result"]


def swapped_binaries(document):
    used = document["result"]["measured"]["binaries"]
    used["candidate"] = "0" * 64
    return document


def samples_of_first(name):
    return (views(name) / "timing/s01.raw/samples.csv").read_bytes()


def cut(data):
    """Without its last row."""
    return data[: data.rstrip().rfind(b"\n") + 1]


def reversed_rows(data):
    header, *rows = data.splitlines(keepends=True)
    return header + b"".join(reversed(rows))


def cell(row, column, value):
    """Change that sets one cell of a CSV file; row 0 is the header."""

    def change(data):
        lines = data.decode().splitlines()
        cells = lines[row].split(",")
        cells[column] = value
        lines[row] = ",".join(cells)
        return ("\n".join(lines) + "\n").encode()

    return change


def every_cell(column, value):
    def change(data):
        for row in range(1, len(data.splitlines())):
            data = cell(row, column, value)(data)
        return data

    return change


def slower_sample(data):
    """One time of the candidate, a tenth longer."""
    lines = data.decode().splitlines()
    row = next(
        n for n, line in enumerate(lines) if re.match("main,.*,candidate,", line)
    )
    time = float(lines[row].rpartition(",")[2])
    return cell(row, 6, repr(1.1 * time))(data)


def unread_clock(data):
    """The SM clock of the first block of an arm was not read."""
    lines = data.decode().splitlines()
    return cell(next(n for n, x in enumerate(lines) if x.startswith("main,")), 6, "")(
        data
    )


def without_rows(data, prefix):
    lines = data.splitlines(keepends=True)
    assert any(line.startswith(prefix) for line in lines)
    return b"".join(line for line in lines if not line.startswith(prefix))


def facts_of(session):
    path = views(V2_SUPPORTED) / f"timing/{session}.json"
    return json.loads(path.read_text())["result"]["measured"]["facts"]


FACTS = ("result", "measured", "facts")
STATISTICS = ("result", "derived", "statistics")
S2 = "timing/s02.raw"

LEFT_OUT = "rounds.csv: experiments are left out or out of order, expected all that "

# Of both versions: what is changed, how, and what is said of it.
FORGED = {
    "ninth digit": (
        "roofline.json",
        lambda d: edit(
            "result",
            "derived",
            "copy_gb_s",
            value=d["result"]["derived"]["copy_gb_s"] * (1 + 2e-8),
        )(d),
        "roofline.json: result.derived.copy_gb_s is ",
    ),
    "samples shuffled": (
        "timing/s01.raw/samples.csv",
        reversed_rows,
        "s01/samples.csv: row 2: ",
    ),
    "another binary timed": (
        "timing/s03.json",
        swapped_binaries,
        f"timing/s03: ran binary {'0' * 64} as candidate, expected ",
    ),
    "failure overlooked": (
        "candidate/reference.json",
        lambda d: edit(
            "result", "measured", "cases", 3, "outputs", "y", "failures", value=1
        )(d),
        "candidate/reference.json: ",
    ),
    "dates out of order": (
        "timing.json",
        edit("run", "finished_at", value="2020-01-01T00:00:00.000Z"),
        "timing: started ",
    ),
    "claim of another": (
        "timing/s01.json",
        edit("claim", value="0" * 64),
        {
            V1_SUPPORTED: "timing/s01.json: made for another claim.json",
            # Its plan is drawn from the claim that it names.
            V2_SUPPORTED: "timing/s01/plan.json: not the plan of its claim",
        },
    ),
    "arm of another": (
        "candidate/build.json",
        edit("subject", "candidate", value="0" * 64),
        "candidate/build.json: subject candidate is not its source.json",
    ),
    "input left out": (
        "timing/s01.json",
        lambda d: {
            **d,
            "inputs": [i for i in d["inputs"] if "memcheck" not in i["name"]],
        },
        "timing/s01.json: was not given baseline/sanitizer/memcheck",
    ),
    "session left out": (
        "timing.json",
        lambda d: {
            **d,
            "inputs": [i for i in d["inputs"] if "s02" not in i["name"]],
        },
        "timing.json: was not given timing/s02",
    ),
    "source left out": (
        "candidate/reference.json",
        lambda d: {
            **d,
            "inputs": [i for i in d["inputs"] if "source" not in i["name"]],
        },
        "candidate/reference.json: was not given candidate/source",
    ),
    "arm left out": (
        "timing.json",
        edit("subject", value={}),
        "timing.json: subject is [], expected ('baseline', 'candidate')",
    ),
    "arms exchanged": (
        "candidate/source.json",
        edit("role", value="baseline"),
        "candidate/source.json: role is 'baseline', expected 'candidate'",
    ),
    "contract left out": (
        "candidate/source.json",
        lambda d: {**d, "files": d["files"][:1]},
        "candidate/source.json: files are ['kernels/triad/vec4.cu'], expected ",
    ),
    "no case": (
        "candidate/reference.json",
        edit("result", "measured", "cases", value=[]),
        "reference: no case has the timed sizes, expected one",
    ),
    "one launch": (
        "candidate/reference.json",
        edit("result", "measured", "cases", 5, "launches", value=1),
        "reference: n=1000003, seed=7, lab: 1 launches, expected 10",
    ),
    "another device timed": (
        "timing/s02.json",
        edit(*FACTS, "gpu_uuid", value="GPU-another"),
        "s02: measured on GPU-another, expected GPU-",
    ),
    "no slot checked": (
        "timing/s02.json",
        edit(*FACTS, "checked_slots", value=0),
        "s02: checked_slots is 0, expected ",
    ),
    "an arm not checked": (
        "timing/s02.json",
        edit(*FACTS, "failed_elements", value={}),
        "s02: failed_elements is {}, expected ",
    ),
    "not warm": (
        "timing/s02.json",
        edit(*FACTS, "warmup_launches", value=3),
        "s02: warmup_launches is 3, expected ",
    ),
    "not rotated": (
        "timing/s02.json",
        edit(*FACTS, "working_set_bytes", value=12),
        "s02: working_set_bytes is 12, expected at least ",
    ),
    "session before its gates": (
        "timing/s01.json",
        edit("run", "started_at", value="2020-01-01T00:00:00.000Z"),
        "timing/s01: started 2020-01-01T00:00:00.000Z, finished ",
    ),
    "nothing launched": (
        "candidate/sanitizer/racecheck.json",
        edit("result", "measured", "runs", 0, "launches", value=0),
        "sanitizer racecheck: no launch was checked",
    ),
    "tool not run": (
        "candidate/sanitizer/racecheck.json",
        edit("result", "measured", "runs", 0, "command", value=["true"]),
        "sanitizer racecheck: command is true, expected compute-sanitizer --tool",
    ),
    "second run hidden": (
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
        "candidate/build.json",
        edit("result", "measured", "flags", value=["-lineinfo"]),
        "candidate/build: built without --std=c++17",
    ),
    "harness of nothing": (
        "harness.json",
        edit("files", value=[]),
        "harness.json: files is [] (list)",
    ),
}
# Of one tree.
FORGED_IN = {
    V1_SUPPORTED: {
        "speedup": (
            "timing.json",
            edit("result", "derived", "round_speedup_median", value=1.8),
            "timing.json: result.derived.round_speedup_median is 1.8, expected 1.1",
        ),
        "raw samples": (
            f"{S2}/samples.csv",
            faster_candidate,
            "timing.json: result.derived.",
        ),
        "samples dropped": (
            "timing/s01.raw/samples.csv",
            cut,
            "s01/samples.csv: 1599 samples, expected 1600",
        ),
        "one session three times": (
            f"{S2}/samples.csv",
            lambda _: samples_of_first(V1_SUPPORTED),
            "timing: two sessions have the same samples.csv",
        ),
    },
    V1_REFUSED: {
        "memcheck waved through": (
            "candidate/sanitizer/memcheck.json",
            passed,
            "candidate/sanitizer/memcheck.json: verdict is pass (passed): 0 errors, "
            "expected",
        ),
        "log cleaned": (
            "candidate/sanitizer/memcheck.raw/memcheck.txt",
            lambda _: (
                b"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
            ),
            "candidate/sanitizer/memcheck.json: result.derived.runs[0].",
        ),
        "gate let in": (
            "candidate/sanitizer/racecheck.json",
            lambda d: {**passed(d), "result": racecheck_of_baseline()},
            "candidate/sanitizer/racecheck.json: verdict is pass (passed): 0 errors, "
            "expected",
        ),
    },
    V2_SUPPORTED: {
        "speedup": (
            "timing.json",
            edit("result", "derived", "speedup", "estimate", value=1.8),
            "timing.json: result.derived.speedup.estimate is 1.8, expected 1.1",
        ),
        "speedup of a session": (
            "timing/s02.json",
            edit(*STATISTICS, "speedup", "lower", value=1.5),
            "timing/s02.json: result.derived.statistics.speedup.lower is 1.5, ",
        ),
        "null of a session": (
            "timing/s02.json",
            edit(*STATISTICS, "null_outcome", value="inconclusive"),
            "timing/s02.json: result.derived.statistics.null_outcome is ",
        ),
        "raw samples": (
            f"{S2}/samples.csv",
            faster_candidate,
            "timing/s02.json: result.derived.statistics.",
        ),
        "one sample longer than its block": (
            f"{S2}/samples.csv",
            cell(1, 6, "1e9"),
            "timing/s02/blocks.csv: ",
        ),
        "one sample": (
            f"{S2}/samples.csv",
            slower_sample,
            "timing/s02.json: result.derived.statistics.",
        ),
        "time that is none": (
            f"{S2}/samples.csv",
            cell(7, 6, "nan"),
            "timing/s02/samples.csv: row 8: elapsed_us is 'nan', "
            "expected a positive finite number",
        ),
        "samples dropped": (
            f"{S2}/samples.csv",
            cut,
            " samples, expected ",
        ),
        "sample twice": (
            f"{S2}/samples.csv",
            lambda d: d + d.splitlines(keepends=True)[-1],
            " samples, expected ",
        ),
        "one session three times": (
            f"{S2}/samples.csv",
            lambda _: samples_of_first(V2_SUPPORTED),
            "timing/s02/samples.csv: row ",
        ),
        "blocks shuffled": (
            f"{S2}/blocks.csv",
            reversed_rows,
            "timing/s02/blocks.csv: row 2: ",
        ),
        "block dropped": (
            f"{S2}/blocks.csv",
            cut,
            " blocks, expected ",
        ),
        "block before the one before it": (
            f"{S2}/blocks.csv",
            cell(9, 4, "0.001"),
            "timing/s02/blocks.csv: row 10: from 0.001 to ",
        ),
        "block that ends before it begins": (
            f"{S2}/blocks.csv",
            cell(9, 5, "0.001"),
            " to 0.001 s, expected after ",
        ),
        "clocks": (
            f"{S2}/blocks.csv",
            every_cell(6, "1980.0"),
            "timing/s02.json: result.derived.statistics.cycles.",
        ),
        "clocks not read": (
            f"{S2}/blocks.csv",
            every_cell(6, ""),
            "timing/s02.json: result.derived.statistics.cycles is ",
        ),
        "warm-up dropped": (
            f"{S2}/warmup.csv",
            lambda d: b"".join(d.splitlines(keepends=True)[:9]),
            "timing/s02: warmup_launches is ",
        ),
        "warm-up of another speed": (
            f"{S2}/warmup.csv",
            every_cell(3, "50.0"),
            "timing/s02: launches_per_graph is ",
        ),
        "warm-up that is none": (
            f"{S2}/warmup.csv",
            cell(3, 3, "-1.0"),
            "timing/s02/warmup.csv: row 4: elapsed_us is '-1.0', "
            "expected a positive finite number",
        ),
        "warm-up without its columns": (
            f"{S2}/warmup.csv",
            lambda d: d.replace(b"end_s", b"end"),
            "timing/s02/warmup.csv: columns are ",
        ),
        "another stop": (
            f"{S2}/plan.json",
            lambda d: d.replace(b"after the last round", b"when it looks good"),
            "timing/s02/plan.json: not the plan of its claim",
        ),
        "plan of another session": (
            f"{S2}/plan.json",
            lambda _: (views(V2_SUPPORTED) / "timing/s01.raw/plan.json").read_bytes(),
            "timing/s02/plan.json: not the plan of its claim",
        ),
        "another plan": (
            "timing/s02.json",
            edit(*FACTS, "plan_sha256", value="0" * 64),
            "timing/s02: measured by another plan than plan.json",
        ),
        "values of another seed": (
            "timing/s02.json",
            edit(*FACTS, "values_seed", value=1),
            "timing/s02: values_seed is 1, expected ",
        ),
        "values of another session": (
            "timing/s02.json",
            edit(*FACTS, "values_seed", value=facts_of("s01")["values_seed"]),
            f"timing/s02: values_seed is {facts_of('s01')['values_seed']}, expected "
            f"{facts_of('s02')['values_seed']}",
        ),
        "fewer launches": (
            "timing/s02.json",
            edit(*FACTS, "launches_per_graph", value=1),
            "timing/s02: launches_per_graph is 1, expected "
            f"{facts_of('s02')['launches_per_graph']}",
        ),
        "block shorter than its samples": (
            f"{S2}/blocks.csv",
            lambda d: cell(1, 5, d.decode().splitlines()[1].split(",")[4])(d),
            " lasts 0.000000 s, expected at least the ",
        ),
        "session shorter than its blocks": (
            "timing/s02.json",
            lambda d: edit(
                "run", "finished_at", value=moved(d["run"]["started_at"], 0.1)
            )(d),
            " s, expected within the 0.100 s of the session",
        ),
        "samples advised": (
            "timing/s02.json",
            edit(*STATISTICS, "components", "advised_samples", value=999),
            "timing/s02.json: result.derived.statistics.components.advised_samples is "
            "999, expected ",
        ),
        **{
            f"how surely {field} costs": (
                "timing/s02.json",
                edit(*STATISTICS, field, "surely_above", value=0.5),
                f"timing/s02.json: result.derived.statistics.{field}.surely_above is "
                "0.5, expected ",
            )
            for field in ("repeat", "poisoned")
        },
        "gap in the state": (
            "timing/s02.json",
            edit(*STATISTICS, "state", "longest_gap_s", value=0.0),
            "timing/s02.json: result.derived.statistics.state.longest_gap_s is 0.0, ",
        ),
        "one clock not read": (
            f"{S2}/blocks.csv",
            unread_clock,
            "timing/s02.json: verdict is pass (passed): ",
        ),
        "state before the rounds only": (
            f"{S2}/state.csv",
            every_cell(0, "0.1"),
            "expected inconclusive (state-unknown): nobody read the device's state",
        ),
        "cell too long for a reader": (
            f"{S2}/state.csv",
            cell(1, 8, "x" * 200_000),
            "timing/s02.json: nothing can be derived from it: Error('field larger ",
        ),
        "plan without a bottom": (
            f"{S2}/plan.json",
            lambda _: b"[" * 200_000,
            "timing/s02.json: nothing can be derived from it: RecursionError(",
        ),
        "state dropped": (
            f"{S2}/state.csv",
            cut,
            "timing/s02.json: result.derived.statistics.state.readings is ",
        ),
        "throttling overlooked": (
            f"{S2}/state.csv",
            cell(1, 8, "hw-slowdown"),
            "timing/s02.json: result.derived.statistics.state.throttle_reasons ",
        ),
        "others on the device": (
            f"{S2}/state.csv",
            cell(1, 7, "2"),
            "timing/s02.json: verdict is pass (passed): ",
        ),
        "state of another device": (
            "timing/s02.json",
            edit(*FACTS, "conditions", "gpu_uuid", value="GPU-another"),
            "timing/s02: measured on GPU-another, expected GPU-",
        ),
        "throttling that was not reported": (
            "timing/s02.json",
            edit(*FACTS, "conditions", "throttle_reasons_reported", value=False),
            "timing/s02.json: result.derived.statistics.state.missing has 0 items, "
            "expected 1",
        ),
        "commands of another device": (
            "timing/s02.json",
            edit("result", "derived", "clock_commands", "lock", value=["rm -rf /"]),
            "timing/s02.json: result.derived.clock_commands.lock",
        ),
        "calibration of another device": (
            "calibration.json",
            edit("gpu_uuid", value="GPU-another"),
            "calibration.json: measured on GPU-another, expected GPU-",
        ),
        "false positives left out": (
            "calibration.json",
            edit("derived", 0, "excluding_one", value=0),
            "calibration.json: derived[0].excluding_one is 0, expected ",
        ),
        "rounds of a calibration": (
            "calibration.raw/rounds.csv",
            cell(1, 5, "1.5"),
            "calibration.json: derived[0].",
        ),
        "round of a calibration left out": (
            "calibration.raw/rounds.csv",
            cut,
            LEFT_OUT,
        ),
        "rounds of a calibration shuffled": (
            "calibration.raw/rounds.csv",
            reversed_rows,
            LEFT_OUT,
        ),
        "experiment of a calibration left out": (
            "calibration.raw/rounds.csv",
            lambda d: without_rows(d, b"triad-self-graph,3,"),
            LEFT_OUT,
        ),
        "experiment that costs nothing": (
            "calibration.raw/costs.csv",
            lambda d: without_rows(d, b"triad-self-graph,3,"),
            LEFT_OUT,
        ),
        "kind of experiments left out": (
            "calibration.json",
            lambda d: {**d, **{k: d[k][1:] for k in ("experiments", "derived")}},
            LEFT_OUT,
        ),
        "labels not exchanged": (
            "calibration.raw/rounds.csv",
            every_cell(2, "0"),
            LEFT_OUT,
        ),
        "calibration finished after the receipt": (
            "calibration.json",
            edit("finished_at", value="2099-01-01T00:00:00.000Z"),
            " to 2099-01-01T00:00:00.000Z, expected before the receipt of 20",
        ),
        "calibration finished before it began": (
            "calibration.json",
            edit("finished_at", value="2020-01-01T00:00:00.000Z"),
            " to 2020-01-01T00:00:00.000Z, expected before the receipt of 20",
        ),
        "round that is none": (
            "calibration.raw/rounds.csv",
            cell(1, 5, "inf"),
            "rounds.csv: row 2: ratio is 'inf', expected a positive finite number",
        ),
        "costs of a calibration": (
            "calibration.raw/costs.csv",
            every_cell(2, "0.01"),
            "calibration.json: derived[0].seconds_median is ",
        ),
    },
}
CASES = [
    *((name, what, *FORGED[what]) for name in SUPPORTED for what in FORGED),
    *(
        (n, what, *case)
        for n, cases in FORGED_IN.items()
        for what, case in cases.items()
    ),
]


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [(name, *case) for name, _, *case in CASES],
    ids=[f"{name[:2]} {what}" for name, what, *_ in CASES],
)
def test_forger_who_mends_every_digest_is_caught_by_derivation(
    name, file, change, message, tmp_path
):
    tree = copied(name, tmp_path)
    expected = message if isinstance(message, str) else message[name]
    try:
        forge(tree, file, change)
    except EvidenceError as error:
        # Not even a forger's receipt can be built of it.
        assert expected in str(error)  # noqa: PT017
        return
    verification = verified(tree)
    assert verification.exit_status == 2
    assert any(expected in problem for problem in verification.problems), (
        verification.problems
    )


def test_race_is_not_excused_by_an_order_said_to_be_free(tmp_path):
    """The verifier reads the contract, which it does not execute."""
    tree = copied(V2_RACY, tmp_path)
    forge(tree, "claim.json", edit("order", value="free"))
    assert (
        "recurrent-one-barrier/claim.json: order is 'free', expected 'fixed' as "
        "kernels/recurrent/operation.py states"
    ) in verified(tree).problems


@pytest.mark.parametrize("name", SUPPORTED)
def test_control_made_of_another_tools_logs_is_no_control(name, tmp_path):
    tree = copied(name, tmp_path)
    controls = views(name) / "control"
    forge_all(
        tree,
        {
            f"control/racecheck.raw/racecheck.{kind}": lambda _, kind=kind: (
                controls / f"memcheck.raw/memcheck.{kind}"
            ).read_bytes()
            for kind in ("txt", "xml")
        },
    )
    problems = verified(tree).problems
    assert any("control/racecheck.json: verdict is" in p for p in problems), problems


@pytest.mark.parametrize("name", TREES)
def test_forging_nothing_leaves_a_valid_tree(name, tmp_path):
    """The forger's own control: what is caught above is the change, not the mending."""
    tree = copied(name, tmp_path)
    forge(tree, "timing.json", lambda d: d)
    assert verified(tree).exit_status == EXIT_STATUS[name]


def without_experiments(tree, files, drop):
    """Forge a calibration whose CSV files lack the rows that begin so."""
    forge_all(
        tree,
        {f"calibration.raw/{f}": lambda d: without_rows(d, drop) for f in files},
    )


def test_experiment_left_out_of_all_files_is_missed_by_its_number(tmp_path):
    """Others are counted up to the last: a hole is no experiment that was not made."""
    tree = copied(V2_SUPPORTED, tmp_path)
    with pytest.raises(EvidenceError) as error:
        without_experiments(tree, ("rounds.csv", "costs.csv"), b"triad-self-graph,3,")
    assert str(error.value).startswith(LEFT_OUT)


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        (
            "calibration.raw/rounds.csv",
            b"x" * 200_000,
            "nothing can be derived from the evidence: Error('field larger than ",
        ),
        (
            "calibration.json",
            b"[" * 200_000,
            "calibration.json: not JSON: maximum recursion depth exceeded",
        ),
    ],
    ids=["CSV", "JSON"],
)
def test_calibration_that_no_reader_takes_is_one_clear_error(
    tmp_path, capsys, file, data, message
):
    """No receipt can be built of these: it is the old one that names them."""
    tree = copied(V2_SUPPORTED, tmp_path)
    changes = {"calibration.json": lambda d: d}
    if file.endswith(".csv"):
        changes[file] = lambda _: data
    mend(tree, claim_of(V2_SUPPORTED), changes)
    if file.endswith(".json"):
        Store(tree).publish(tree / file, data)
    relisted(tree)
    assert main(["verify", str(tree / "receipt.json")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.endswith("receipt    invalid\n")


def relisted(tree):
    """Name in the receipt what now lies there, and build nothing anew."""
    receipt = json.loads((tree / "receipt.json").read_text())
    store = Store(tree)
    receipt["evidence"] = [
        asdict(store.publish(tree / item["name"], (tree / item["name"]).read_bytes()))
        | {"media_type": item["media_type"]}
        if (tree / item["name"]).is_file()
        else item
        for item in receipt["evidence"]
    ]
    data = canonical(receipt)
    for path in (tree / "receipt.json", tree / receipt["name"] / "receipt.json"):
        path.unlink()
        path.write_bytes(data)


def test_calibration_without_its_raw_files_is_none(tmp_path):
    tree = copied(V2_SUPPORTED, tmp_path)
    with pytest.raises(EvidenceError) as error:
        forge(tree, "calibration.json", lambda d: {**d, "artifacts": []})
    assert str(error.value) == "rounds.csv: 0 artifacts, expected 1"


def test_tree_with_an_added_session_verifies(tmp_path):
    tree = copied(V2_SUPPORTED, tmp_path)
    assert add_session(tree, after_s=7200) == "timing/s04"
    verification = verified(tree)
    assert verification.problems == ()
    receipt = verification.receipt
    assert receipt["status"] == "confirmed"
    assert receipt["measurement"]["sessions"] == 4
    assert receipt["measurement"]["planned_sessions"] == 3
    assert receipt["summary"][3].startswith("timing     pass         4 sessions x ")
    assert receipt["summary"][5] == (
        "verdict    supported    confirmed; candidate is faster"
    )


def test_added_session_that_disagrees_unmakes_the_claim(tmp_path):
    tree = copied(V2_SUPPORTED, tmp_path)
    add_session(tree, after_s=7200, scale={"candidate": 1.3})
    verification = verified(tree)
    assert (verification.problems, verification.exit_status) == ((), 1)
    verdict = verification.receipt["verdict"]
    assert (verdict["status"], verdict["reason"]) == (
        "inconclusive",
        "sessions-disagree",
    )
    assert verification.receipt["status"] == "provisional"
    assert verification.receipt["roofline"] is None


def test_added_session_that_is_left_out_is_found(tmp_path):
    """timing.json is of the sessions that it was given, and says so."""
    tree = copied(V2_SUPPORTED, tmp_path)
    added = add_session(tree, after_s=7200)
    claim = claim_of(V2_SUPPORTED)
    (tree / claim / f"{added}.json").unlink()
    shutil.rmtree(tree / claim / f"{added}.raw")
    forge(tree, "timing.json", lambda d: d)
    problems = verified(tree).problems
    assert any(
        problem.startswith(f"{claim}/timing.json: {claim}/{added}.json ")
        and problem.endswith(" is not the receipt's evidence")
        for problem in problems
    ), problems


@pytest.mark.parametrize("file", ["plan.json", "samples.csv"])
def test_added_session_is_held_to_a_plan_of_its_own(file, tmp_path):
    tree = copied(V2_SUPPORTED, tmp_path)
    added = add_session(tree, after_s=7200)
    first = (tree / claim_of(V2_SUPPORTED) / f"timing/s01.raw/{file}").read_bytes()
    forge(tree, f"{added}.raw/{file}", lambda _: first)
    problems = verified(tree).problems
    assert any(f"{added}/{file}: " in problem for problem in problems), problems
