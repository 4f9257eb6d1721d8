"""Child processes end with their parent, and on time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fivegates import process
from fivegates.errors import ToolError
from fivegates.process import beside, portable, run

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


# What is beside a body reads its standard input, as the sampler of a state does.
UNTIL_STDIN_ENDS = """
import pathlib, os, sys
pathlib.Path("pid").write_text(str(os.getpid()))
sys.stdin.read()
pathlib.Path("ended").write_text("well")
"""


def started(folder):
    """The process whose pid is written there, once it is."""
    pid = folder / "pid"
    for _ in range(200):
        if pid.exists() and pid.read_text().strip():
            return int(pid.read_text())
        time.sleep(0.05)
    raise AssertionError("it did not start")


def is_running(pid):
    return Path(f"/proc/{pid}").exists()


def test_what_runs_beside_ends_when_its_standard_input_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with beside([sys.executable, "-c", UNTIL_STDIN_ENDS]):
        pid = started(tmp_path)
        assert is_running(pid)
        assert not (tmp_path / "ended").exists()
    assert (tmp_path / "ended").read_text() == "well"
    assert not is_running(pid)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('NVML: no such device')", "NVML: no such device"),
        ("raise ValueError('why')", "ValueError: why"),
        ("raise SystemExit(3)", "no output"),
        ("import os; os.kill(os.getpid(), 9)", "no output"),
        ("import sys; sys.stderr.buffer.write(b'\\xff'); sys.exit(1)", "\ufffd"),
    ],
)
def test_failure_of_what_runs_beside_is_one_error(tmp_path, program, words):
    """Also where it is long over when the body ends."""
    sampler = tmp_path / "sampler.py"
    sampler.write_text(program)
    done = []
    with pytest.raises(ToolError) as error, beside([sys.executable, sampler]):
        done.append(time.sleep(0.3))
    assert done
    assert str(error.value) == f"{sampler}: {words}, expected it to end well"


def test_program_that_is_not_there_to_run_beside_is_one_error():
    with pytest.raises(ToolError) as error, beside(["/none/such", "sampler.py"]):
        pytest.fail("the body ran")
    assert str(error.value) == (
        "/none/such: No such file or directory, expected an executable"
    )


def test_what_runs_beside_is_killed_with_a_body_that_raises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pids = []

    def fail():
        with beside([sys.executable, "-c", UNTIL_STDIN_ENDS]):
            pids.append(started(tmp_path))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not is_running(pids[0])
    assert not (tmp_path / "ended").exists()


def test_what_does_not_end_beside_is_killed_with_its_children(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "END_TIMEOUT_S", 0.2)
    command = ["sh", "-c", "echo $$ > pid; sleep 60 & echo $! > child; wait"]
    with pytest.raises(ToolError) as error, beside(command):
        pid = started(tmp_path)
    assert str(error.value) == (
        "-c: runs on, expected it to end with its standard input"
    )
    assert not is_running(pid)
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not is_running(child) or "zombie" in status(child):
            return
        time.sleep(0.05)
    pytest.fail(f"{child} outlived its parent")


def status(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "zombie"
