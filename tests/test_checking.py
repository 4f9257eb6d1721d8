"""What the host's checker and AddressSanitizer wrote, and logs spoiled by hand."""

import json

import pytest

from fivegates.checking import (
    CHECKED_LOG,
    CHECKS,
    derive,
    derive_address,
    derive_census,
    judge,
    judge_control,
    require_runs,
    with_proof,
)
from fivegates.errors import ArtifactError
from fivegates.record import TOOL_REASONS, Reason, Verdict

RACE = {
    "check": "racecheck",
    "kind": "RAW",
    "level": "error",
    "count": 3,
    "block": [0, 0, 0],
    "thread": [1, 0, 0],
    "other_block": [0, 0, 0],
    "other_thread": [0, 0, 0],
    "space": "shared",
    "object": "h",
    "offset": 0,
    "file": "kernels/a.cu",
    "line": 7,
    "other_line": 9,
}
NOTICE = {**RACE, "level": "notice", "count": 1}
RUN = {
    "name": "checked",
    "exit_status": 0,
    "completed": True,
    "reports": 0,
    "launches": 1,
    "limit": None,
    "errors": [],
    "last_words": "",
}
FAILED = {**RUN, "exit_status": 99, "reports": 3}
ADDRESS = """\
=================================================================
==7==ERROR: AddressSanitizer: use-after-poison on address 0x7f09 at pc 0x7f bp 0x sp 0x
READ of size 4 at 0x7f0dd3eb63e8 thread T0
    #0 0x7f0dd3ea3153  (/kernels/a.cu:5)
    #1 0x559d58ef8cee  (/cache/runner+0x6cee)
==fivegates== kernel=own block=(3,0,0) thread=(67,0,0)
==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000000
"""


def judged(run, *rows, tool="racecheck"):
    log = "".join(json.dumps(row) + "\n" for row in rows)
    return judge([run], derive(tool, [run], {CHECKED_LOG: log}, "own"))


def test_error_fails_with_its_place():
    verdict = judged(FAILED, RACE)
    assert (verdict.status, verdict.reason) == ("fail", Reason.RACE)
    assert verdict.message == (
        '3 errors, "race, RAW on shared h: read here, written at line 9 by thread '
        '(0,0,0), nothing orders the two" in own at kernels/a.cu:7 block (0,0,0) '
        "thread (1,0,0)"
    )


def test_notice_passes_and_is_told():
    verdict = judged(RUN, NOTICE)
    assert verdict.status == "pass"
    assert verdict.message.startswith('0 errors, 1 notice: "race, RAW on shared h: ')


@pytest.mark.parametrize("tool", [tool for tool in CHECKS if tool != "racecheck"])
def test_finding_of_one_tool_is_no_other_tools(tool):
    assert judged(FAILED, RACE, tool=tool).status == "pass"


@pytest.mark.parametrize(
    ("run", "rows", "reason"),
    [
        ({**RUN, "reports": 3}, [], Reason.EVIDENCE_DISAGREES),
        ({**RUN, "reports": None}, [], Reason.EVIDENCE_DISAGREES),
        ({**RUN, "completed": False}, [], Reason.PROCESS_FAILED),
        ({**RUN, "exit_status": 2}, [], Reason.PROCESS_FAILED),
        ({**RUN, "exit_status": -11}, [], Reason.PROCESS_FAILED),
        ({**RUN, "errors": ["segmentation fault"]}, [], Reason.PROCESS_FAILED),
        ({**RUN, "limit": "the kernel made a system call"}, [], Reason.LIMIT_REACHED),
        ({**RUN, "exit_status": None}, [], Reason.TIMEOUT),
        ({**RUN, "reports": 5}, [{"not_kept": 5}], Reason.EVIDENCE_DISAGREES),
    ],
)
def test_run_that_is_not_whole_is_not_run(run, rows, reason):
    verdict = judged(run, *rows, tool="initcheck")
    assert (verdict.status, verdict.reason) == ("not-run", reason)


def test_log_with_more_errors_than_the_process_counted_is_not_whole():
    verdict = judged({**FAILED, "reports": 1}, RACE, tool="initcheck")
    assert verdict.reason == Reason.EVIDENCE_DISAGREES


def test_address_sanitizer_alone_fails_memcheck():
    second = {**RUN, "name": "address", "exit_status": 99, "reports": 1}
    found = derive("memcheck", [RUN], {CHECKED_LOG: ""}, "own")
    found.append(derive_address(ADDRESS, second))
    verdict = judge([RUN, second], found)
    assert (verdict.status, verdict.reason) == ("fail", Reason.MEMORY_ERROR)
    assert verdict.message == (
        'AddressSanitizer alone: "use-after-poison, READ of size 4" in own at '
        "kernels/a.cu:5 block (3,0,0) thread (67,0,0)"
    )


def test_address_sanitizers_crash_is_a_finding_too():
    found = derive_address(ADDRESS, RUN)
    assert found["errors"] == 2
    assert found["findings"][1]["text"] == "SEGV"


def test_address_sanitizer_that_broke_off_is_no_second_opinion():
    second = {**RUN, "name": "address", "completed": False, "last_words": "killed"}
    found = derive("memcheck", [RUN], {CHECKED_LOG: ""}, "own")
    found.append(derive_address("", second))
    verdict = judge([RUN, second], found)
    assert verdict.status == "not-run"
    assert verdict.message == "address: exit status 0, killed"


@pytest.mark.parametrize(
    ("names", "second"),
    [((), False), (("checked",), True), (("checked", "address"), False)],
)
def test_runs_must_be_those_of_the_gate(names, second):
    runs = [{**RUN, "name": name} for name in names]
    with pytest.raises(ArtifactError, match=r"a/b: runs are \("):
        require_runs("a/b", runs, second=second)


def test_run_without_a_launch_has_not_looked():
    with pytest.raises(ArtifactError, match="no launch was checked"):
        require_runs("a/b", [{**RUN, "launches": 0}], second=False)


@pytest.mark.parametrize("entry", ["control_racecheck", "control_memcheck"])
def test_control_is_caught_in_its_own_kernel(entry):
    log = json.dumps(RACE) + "\n"
    found = derive("racecheck", [FAILED], {CHECKED_LOG: log}, entry)
    verdict = judge_control("racecheck", [FAILED], found)
    right = entry == "control_racecheck"
    assert verdict.status == ("pass" if right else "not-run")


def test_control_without_a_finding_stops_the_gate():
    found = derive("racecheck", [RUN], {CHECKED_LOG: ""}, "control_racecheck")
    verdict = judge_control("racecheck", [RUN], found)
    assert (verdict.status, verdict.reason) == ("not-run", Reason.CONTROL_NOT_CAUGHT)
    assert verdict.message == (
        "checked did not catch the planted fault racecheck: 0 errors"
    )


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("race_free", "pass"),
        ("inconclusive", "pass"),
        ("potential_race", "inconclusive"),
        ("not_wellsynced", "inconclusive"),
    ],
)
def test_static_proof_never_makes_a_pass_and_may_unmake_one(result, status):
    proof = {"tool": "SentryWard 0.1.1", "result": result, "detail": "why"}
    verdict = with_proof(Verdict.passed("0 errors"), proof)
    assert verdict.status == status
    assert f"SentryWard 0.1.1: {result}, why" in verdict.message
    failed = Verdict.fail(Reason.RACE, "1 error")
    assert with_proof(failed, proof) == failed


def test_every_tool_has_its_reason():
    assert set(CHECKS) == set(TOOL_REASONS)
    assert len(set(TOOL_REASONS.values())) == len(CHECKS)


def test_census_is_told_a_request():
    row = {
        "access": "shared load",
        "line": 5,
        "requests": 4,
        "lanes": 128,
        "bytes": 512,
        "bank_passes": 128,
        "ideal": 4,
    }
    (found,) = derive_census(json.dumps(row) + "\n")
    assert found == {
        "access": "shared load",
        "line": 5,
        "requests": 4,
        "bytes": 512,
        "lanes_per_request": 32,
        "unit": "bank_passes",
        "units_per_request": 32,
        "ideal_units_per_request": 1,
    }
