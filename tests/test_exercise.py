"""Which case a process that ends too early is charged to, on either backend."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from fivegates import exercise as exercising
from fivegates.arm import Launch
from fivegates.errors import ToolError
from fivegates.exercise import EXERCISE_SCRIPT, exercise, launcher, prepare
from fivegates.job import CaseJob, Job

LAUNCH = Launch(grid=(1, 1, 1), block=(1, 1, 1), dynamic_shared_bytes=0, arguments=())
CASES = tuple(
    CaseJob(index=i, launches=1, poison=True, launch=LAUNCH, inputs={}, outputs={})
    for i in range(3)
)
# Answers the cases of its job by a script: an end for each case that is not plain.
PROCESS = """
import json, os, re, sys, time
folder, ends = sys.argv[1], json.loads(sys.argv[2])
with open(f"{folder}/report.jsonl", "w") as report:
    for index in re.findall(r"^case (\\d+)", open(f"{folder}/job.txt").read(), re.M):
        end = ends.get(index)
        if end == "abort":
            report.flush()
            os.abort()
        if end == "quiet":
            report.flush()
            os._exit(1)
        answer = {"case": int(index), "variants": [], "changed_inputs": []}
        answer["error"] = end if end == "error" else None
        answer["limit"] = None
        print(json.dumps(answer), file=report)
        if end == "error":
            report.flush()
            os._exit(1)
    print('{"done": true}', file=report)
if ends.get("end") == "abort":
    os.abort()
if ends.get("end") == "hang":
    time.sleep(60)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    def launch(**ends):
        command = [sys.executable, "-c", PROCESS, tmp_path, json.dumps(ends)]
        monkeypatch.setattr(exercising, "launcher", lambda *_, **__: command)
        job = Job(binary="kernel", entry="own", cases=CASES)
        found = exercise("cuda", tmp_path, job, 20)
        return [(case.index, case.error) for case in found.cases]

    return launch


def test_shared_memory_of_a_device_is_filled_in_gate_1_alone(tmp_path):
    script = [sys.executable, EXERCISE_SCRIPT]
    filled = launcher("cuda", tmp_path, fill_shared=True)
    assert filled == [*script, "--fill-shared", tmp_path]
    assert launcher("cuda", tmp_path) == [*script, tmp_path]


def test_gate_1_asks_for_shared_memory_that_is_filled(tmp_path, monkeypatch):
    asked = []
    command = [sys.executable, "-c", PROCESS, tmp_path, "{}"]
    monkeypatch.setattr(
        exercising, "launcher", lambda *_, **named: asked.append(named) or command
    )
    exercise("cuda", tmp_path, Job(binary="kernel", entry="own", cases=CASES), 20)
    assert asked == [{"fill_shared": True}]


def test_process_that_answers_all_and_does_not_end_is_charged_to_its_last_case(
    tmp_path, monkeypatch
):
    command = [sys.executable, "-c", PROCESS, tmp_path, '{"end": "hang"}']
    monkeypatch.setattr(exercising, "launcher", lambda *_, **__: command)
    found = exercise(
        "cuda", tmp_path, Job(binary="kernel", entry="own", cases=CASES), 3
    )
    assert found.timed_out
    assert [case.index for case in found.cases] == [0, 1]


def test_input_must_fill_its_buffer(tmp_path):
    cases = (replace(CASES[0], inputs={"x": 12}),)
    job = Job(binary="kernel", entry="own", cases=cases)
    with pytest.raises(ValueError, match=r"^case 0: x has 8 bytes, expected 12$"):
        prepare(tmp_path, job, b"", [{"x": np.zeros(2, np.float32)}])


ABORT = "process ended by SIGABRT"


@pytest.mark.parametrize(
    ("ends", "errors"),
    [
        ({}, [None, None, None]),
        ({"0": "abort"}, [ABORT, None, None]),
        ({"1": "abort"}, [None, ABORT, None]),
        ({"2": "abort"}, [None, None, ABORT]),
        ({"1": "error"}, [None, "error", None]),
        ({"2": "error"}, [None, None, "error"]),
        ({"0": "abort", "2": "error"}, [ABORT, None, "error"]),
        ({"0": "error", "1": "error", "2": "error"}, ["error"] * 3),
        ({"end": "abort"}, [None, None, ABORT]),
    ],
    ids=str,
)
def test_early_end_is_charged_to_its_case(run, ends, errors):
    assert run(**ends) == list(enumerate(errors))


def test_process_that_ends_without_a_word_is_no_verdict(run):
    with pytest.raises(ToolError, match=r"^exercise: no output$"):
        run(**{"1": "quiet"})
