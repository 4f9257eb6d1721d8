"""Child processes end with their parent, and on time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fivegates.errors import ToolError
from fivegates.process import portable, run

SCRIPTS = Path(__file__).parents[1] / "workflow" / "scripts"
PARENT = """
import sys
from fivegates.gate import guarded
from fivegates.process import run
sys.exit(guarded(lambda: run(["sh", "-c", "echo $$ > pid; sleep 60"], timeout_s=90)))
"""


def test_output_and_status_come_back():
    completed = run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=10)
    assert (completed.exit_status, completed.stdout, completed.stderr) == (
        3,
        "out\n",
        "err\n",
    )
    assert completed.last_words == "err"
    assert completed.signal_name is None


def test_death_by_signal_is_named():
    assert run(["sh", "-c", "kill -SEGV $$"], timeout_s=10).signal_name == "SIGSEGV"


def test_time_that_runs_out_ends_the_whole_group():
    start = time.monotonic()
    completed = run(["sh", "-c", "sleep 60 & sleep 60"], timeout_s=0.3)
    assert completed.exit_status is None
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_child_ends_with_a_parent_that_is_asked_to(tmp_path, number):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        stderr=subprocess.DEVNULL,
    )
    pid = tmp_path / "pid"
    for _ in range(200):
        if pid.exists() and pid.read_text().strip():
            break
        time.sleep(0.05)
    child = int(pid.read_text())
    parent.send_signal(number)
    parent.wait(10)
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.05)
    pytest.fail(f"child {child} outlived its parent")


def test_program_that_is_not_there_is_one_error():
    with pytest.raises(ToolError) as error:
        run(["/none/such"], timeout_s=1)
    assert str(error.value) == (
        "/none/such: No such file or directory, expected an executable"
    )


def test_recorded_command_names_no_place_of_its_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, tmp_path / "a.py", tmp_path / "job"]
    assert portable(command, {str(tmp_path / "job"): "JOB"}) == (
        "python",
        "a.py",
        "JOB",
    )
