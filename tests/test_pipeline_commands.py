"""`fivegates calibrate` and `sessions add`: what they run, what they refuse."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, device_missing
from fivegates import pipeline
from fivegates.cli import main

SNAKEMAKE = "-m snakemake --cores 1 "


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """A checkout in which a recorder stands for Python; the commands it was given."""
    monkeypatch.chdir(tmp_path)
    recorder = tmp_path / "recorder"
    recorder.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexit $(cat {tmp_path}/status)\n'
    )
    recorder.chmod(0o755)
    (tmp_path / "status").write_text("0")
    (tmp_path / "calls").touch()
    monkeypatch.setattr(pipeline.sys, "executable", str(recorder))
    return lambda: (tmp_path / "calls").read_text().splitlines()


def judged(tmp_path, sessions, backend="cuda"):
    """What a claim leaves that was judged, with so many sessions."""
    folder = tmp_path / "results/triad-vec4/timing"
    folder.mkdir(parents=True)
    (folder.parent / "receipt.json").write_text(json.dumps({"backend": backend}))
    for number in range(1, sessions + 1):
        (folder / f"s{number:02d}.json").write_text("{}")
        (folder / f"s{number:02d}.raw").mkdir()


@pytest.mark.parametrize("argv", [[], ["--experiments", "60"]], ids=str)
def test_calibration_is_what_the_script_does(calls, argv):
    assert main(["calibrate", *argv]) == 0
    (call,) = calls()
    assert call == (
        f"workflow/scripts/calibrate_device.py --experiments {(argv or [0, 40])[1]} "
        "--output results/calibration.json"
    )


@pytest.mark.parametrize("argv", [["calibrate"], ["sessions", "add", "triad-vec4"]])
def test_status_of_what_ran_is_the_commands_own(calls, tmp_path, argv):
    judged(tmp_path, 3)
    (tmp_path / "status").write_text("7")
    assert main(argv) == 7
    assert len(calls()) == 1


@pytest.mark.parametrize("known", [3, 4, 98])
def test_session_is_added_behind_those_that_are_there(calls, tmp_path, known):
    judged(tmp_path, known)
    assert main(["sessions", "add", "triad-vec4"]) == 0
    added, receipt = calls()
    folder = "results/triad-vec4"
    assert added.startswith(SNAKEMAKE)
    assert added.endswith(f" -- {folder}/timing/s{known + 1:02d}.json")
    assert receipt.startswith(SNAKEMAKE)
    assert receipt.endswith(f" -- {folder}/receipt.json")


def test_copy_of_the_receipt_that_people_look_at_is_made_again(calls, tmp_path):
    judged(tmp_path, 3)
    results = tmp_path / "results"
    shutil.copy(results / "triad-vec4/receipt.json", results)
    assert main(["sessions", "add", "triad-vec4"]) == 0
    assert calls()[1].endswith(
        " -- results/triad-vec4/receipt.json results/receipt.json"
    )


def test_receipt_of_another_claim_is_left_alone(calls, tmp_path):
    judged(tmp_path, 3)
    (tmp_path / "results/receipt.json").write_text("{}")
    assert main(["sessions", "add", "triad-vec4"]) == 0
    assert calls()[1].endswith(" -- results/triad-vec4/receipt.json")


def test_claim_without_a_receipt_is_one_error_and_nothing_runs(calls, capsys):
    assert main(["sessions", "add", "triad-vec4"]) == 2
    assert capsys.readouterr().err == (
        "results/triad-vec4/receipt.json: no such file, expected the receipt of a "
        "claim that was judged. Run snakemake results/triad-vec4/receipt.json first\n"
    )
    assert calls() == []


@pytest.mark.parametrize("claim", [".", "", "a/b", "triad-vec4/", "/"], ids=repr)
def test_name_that_is_no_claim_is_one_error_and_nothing_runs(
    calls, tmp_path, capsys, claim
):
    """`.` is the folder of all claims, where a copy of a receipt may lie."""
    judged(tmp_path, 3)
    results = tmp_path / "results"
    shutil.copy(results / "triad-vec4/receipt.json", results)
    assert main(["sessions", "add", claim]) == 2
    assert capsys.readouterr().err == (
        f"{claim!r}: no claim, expected the name of one\n"
    )
    assert calls() == []


def test_preflight_has_no_session_to_add_to(calls, tmp_path, capsys):
    judged(tmp_path, 3, backend="host")
    assert main(["sessions", "add", "triad-vec4"]) == 2
    assert capsys.readouterr().err == (
        "results/triad-vec4/receipt.json: is a preflight, expected a claim that was "
        "timed on a device\n"
    )
    assert calls() == []


def test_receipt_that_cannot_be_read_is_one_error(calls, tmp_path, capsys):
    judged(tmp_path, 3)
    (tmp_path / "results/triad-vec4/receipt.json").write_text("{")
    assert main(["sessions", "add", "triad-vec4"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("results/triad-vec4/receipt.json: not JSON: ")
    assert calls() == []


def test_hundredth_session_is_one_error_and_nothing_runs(calls, tmp_path, capsys):
    judged(tmp_path, 99)
    assert main(["sessions", "add", "triad-vec4"]) == 2
    assert capsys.readouterr().err == (
        "results/triad-vec4: has 99 sessions, expected at most 99\n"
    )
    assert calls() == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: command"),
        (["sessions"], "the following arguments are required: action"),
        (["sessions", "add"], "the following arguments are required: claim"),
        (["sessions", "drop", "triad-vec4"], "invalid choice: 'drop'"),
        (["calibrate", "--experiments", "many"], "invalid int value: 'many'"),
        (["calibrate", "triad-vec4"], "unrecognized arguments: triad-vec4"),
        (["verify"], "the following arguments are required: receipt"),
    ],
    ids=str,
)
def test_wrong_arguments_are_a_usage_error(calls, capsys, argv, message):
    with pytest.raises(SystemExit) as error:
        main(argv)
    assert error.value.code == 2
    assert message in capsys.readouterr().err
    assert calls() == []


def script(*argv):
    """The calibration's script as `fivegates calibrate` runs it."""
    return subprocess.run(
        [sys.executable, "workflow/scripts/calibrate_device.py", *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow/scripts")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_too_few_experiments_are_refused_before_the_device_is_asked(tmp_path):
    output = tmp_path / "calibration.json"
    completed = script("--experiments", "3", "--output", str(output))
    assert completed.returncode == 2
    assert "argument --experiments: 3, expected at least 4" in completed.stderr
    assert not output.exists()


@pytest.mark.skipif(not device_missing(), reason="a device answers")
def test_calibration_without_a_device_is_one_line(tmp_path):
    completed = script("--output", str(tmp_path / "calibration.json"))
    assert (completed.returncode, completed.stderr) == (
        2,
        "calibration: no device answers, expected a driver, an NVIDIA GPU and the "
        "extra cuda12 or cuda13\n",
    )
    assert list(tmp_path.iterdir()) == []
