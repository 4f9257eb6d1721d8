"""What compute-sanitizer really wrote, read as it must be, and logs spoiled by hand."""

import json
import re
from pathlib import Path

import pytest

from fivegates.findings import parse_summary, parse_xml
from fivegates.record import Reason
from fivegates.sanitizer import (
    decide,
    decide_control,
    derive,
    derive_run,
    judge,
)

LOGS = Path(__file__).parent / "data" / "compute-sanitizer"
VERSIONS = sorted(path.name for path in LOGS.iterdir())

VERDICTS = {
    "memcheck-clean": ("pass", Reason.PASSED),
    "racecheck-clean": ("pass", Reason.PASSED),
    "memcheck-control": ("fail", Reason.MEMORY_ERROR),
    "memcheck-truncated": ("fail", Reason.MEMORY_ERROR),
    "racecheck-control": ("fail", Reason.RACE),
    "racecheck-warning": ("inconclusive", Reason.HAZARD_WARNING),
    "initcheck-control": ("fail", Reason.UNINITIALIZED_READ),
    "synccheck-control": ("fail", Reason.BARRIER_ERROR),
    "memcheck-no-process": ("not-run", Reason.PROCESS_FAILED),
    "memcheck-process-failed": ("not-run", Reason.PROCESS_FAILED),
}


def recorded(version, name):
    """Arguments of derive_run, from the files of one real run."""
    folder = LOGS / version
    measured = json.loads((folder / f"{name}.json").read_text())
    xml = folder / f"{name}.xml"
    return {
        "tool": name.partition("-")[0],
        "xml": xml.read_text() if xml.is_file() else None,
        "text": (folder / f"{name}.txt").read_text(),
        "exit_status": measured["exit_status"],
        "completed": measured["completed"],
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", VERDICTS)
def test_recorded_run_has_its_verdict(version, name):
    verdict = judge(derive_run(**recorded(version, name)))
    assert (verdict.status, verdict.reason) == VERDICTS[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_message_names_kernel_line_block_and_thread(version):
    verdict = judge(derive_run(**recorded(version, "memcheck-control")))
    assert re.fullmatch(
        r'\d errors, "Invalid __global__ write of size 4 bytes.* is out of bounds" in '
        r"control_memcheck at kernels/controls/memcheck.cu:5 "
        r"block \(0,0,0\) thread \(250,0,0\)",
        verdict.message,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_errors_that_were_not_printed_count(version):
    """corpus C04: XML keeps 100 records, the text says how many there were."""
    derived = derive_run(**recorded(version, "memcheck-truncated"))
    assert derived["records"] == 100
    assert derived["text_errors"] - derived["not_printed"] == 100
    assert derived["text_errors"] >= 133
    assert "sources disagree" not in judge(derived).message


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", VERDICTS)
def test_sources_of_a_real_run_agree_on_the_number(version, name):
    derived = derive_run(**recorded(version, name))
    if derived["records"] is None:
        return
    told = derived["text_errors"] + derived["text_warnings"] - derived["not_printed"]
    assert derived["records"] == told


SPOILED = {
    "exit 99": {"exit_status": 99},
    "exit 77, skipped elsewhere": {"exit_status": 77},
    "exit 139": {"exit_status": 139},
    "killed": {"exit_status": -9},
    "no XML": {"xml": None},
    "XML cut": {"xml": '<?xml version="1.0" encoding="utf-8"?>\n<Compute'},
    "XML of another kind": {"xml": "<records/>"},
    "XML with entities": {"xml": "<!DOCTYPE a><ComputeSanitizerOutput/>"},
    "no text": {"text": ""},
    "banner only": {"text": "========= COMPUTE-SANITIZER\n"},
    "summary cut": {"text": "========= COMPUTE-SANITIZER\n========= ERROR SUMM"},
    "summary of another tool": {
        "text": "========= RACECHECK SUMMARY: 0 hazards displayed "
        "(0 errors, 0 warnings)\n"
    },
    "one error, singular": {"text": "========= ERROR SUMMARY: 1 error\n"},
    "errors, exit 0": {"text": "========= ERROR SUMMARY: 12 errors\n"},
    "two summaries": {
        "text": "========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 3 errors\n"
    },
    "kernel did not end": {"completed": False},
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("spoil", SPOILED)
def test_clean_run_with_one_source_spoiled_is_no_pass(version, spoil):
    """corpus C02, C03, C10, C11"""
    clean = recorded(version, "memcheck-clean")
    assert judge(derive_run(**clean)).status == "pass"
    assert judge(derive_run(**{**clean, **SPOILED[spoil]})).status != "pass"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "change",
    [
        {"exit_status": 0},
        {"text": ""},
        {"text": "========= ERROR SUMMARY: 0 errors\n"},
        {"completed": True},
    ],
    ids=str,
)
def test_finding_in_the_records_fails_whatever_the_rest_says(version, change):
    found = {**recorded(version, "memcheck-control"), **change}
    verdict = judge(derive_run(**found))
    assert (verdict.status, verdict.reason) == ("fail", Reason.MEMORY_ERROR)


@pytest.mark.parametrize("version", VERSIONS)
def test_disagreement_on_the_number_is_said(version):
    found = recorded(version, "memcheck-control") | {"exit_status": 0}
    message = judge(derive_run(**found)).message
    assert re.search(r"\(text \d errors, records \d, exit status 0\)$", message)


def test_errors_without_a_record_of_them_fail():
    verdict = judge(
        derive_run(
            "memcheck",
            xml="<ComputeSanitizerOutput></ComputeSanitizerOutput>",
            text="========= ERROR SUMMARY: 1 error\n",
            exit_status=99,
            completed=True,
        )
    )
    assert (verdict.status, verdict.reason) == ("fail", Reason.EVIDENCE_DISAGREES)
    assert verdict.message == "text 1 errors, records 0, exit status 99"


def test_api_errors_alone_are_not_the_kernels():
    """corpus C08"""
    record = (
        "<record><kind>Api</kind><what><text>Program hit 801</text></what></record>"
    )
    verdict = judge(
        derive_run(
            "memcheck",
            xml=f"<ComputeSanitizerOutput>{record * 3}</ComputeSanitizerOutput>",
            text="========= ERROR SUMMARY: 3 errors\n",
            exit_status=99,
            completed=True,
        )
    )
    assert (verdict.status, verdict.reason) == ("inconclusive", Reason.API_ERROR)


@pytest.mark.parametrize(
    ("tool", "text", "counts"),
    [
        ("memcheck", "========= ERROR SUMMARY: 1,234 errors\n", (1234, 0, 0)),
        ("memcheck", "ERROR SUMMARY: 0 errors\n", None),
        (
            "racecheck",
            "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
            (1, 0, 0),
        ),
        (
            "racecheck",
            "========= RACECHECK SUMMARY: 3 hazards displayed (0 errors, 3 warnings)\n",
            (0, 3, 0),
        ),
        ("racecheck", "========= ERROR SUMMARY: 0 errors\n", None),
    ],
)
def test_summary_line_is_read_whole_or_not_at_all(tool, text, counts):
    summary = parse_summary(tool, text)
    found = summary and (summary.errors, summary.warnings, summary.not_printed)
    assert found == counts


@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_finding_names_its_kernel_and_file(version):
    for path in sorted((LOGS / version).glob("*-control.xml")):
        for finding in parse_xml(path.read_text()):
            if finding.check in ("Api", "Sanitizer"):
                continue
            assert finding.kernel.startswith("control_")
            assert finding.file.startswith("kernels/controls/")
            assert finding.line > 0


def control_run(version, name, **changes):
    run = {"name": name.partition("-")[0], **recorded(version, name), **changes}
    logs = {f"{run['name']}.txt": run["text"], f"{run['name']}.xml": run["xml"]}
    return run, derive(run["tool"], [run], logs)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_control_that_is_caught_passes(version, tool):
    run, derived = control_run(version, f"{tool}-control")
    verdict = decide_control([run], derived)
    assert verdict.status == "pass"
    assert verdict.message == f"caught the planted fault: {tool}"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["memcheck-clean", "racecheck-warning"])
def test_control_that_is_not_caught_stops_the_gate(version, name):
    """corpus C09"""
    run, derived = control_run(version, name)
    verdict = decide_control([run], derived)
    assert (verdict.status, verdict.reason) == ("not-run", Reason.CONTROL_NOT_CAUGHT)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("change", [{"exit_status": 0}, {"text": ""}])
def test_control_needs_sources_that_agree(version, change):
    run, derived = control_run(version, "memcheck-control", **change)
    assert decide_control([run], derived).reason == Reason.CONTROL_NOT_CAUGHT


def test_tool_that_did_not_end_is_not_run():
    run = {"name": "memcheck", "exit_status": None}
    assert derive("memcheck", [run], {}) == []
    verdict = decide([run], [])
    assert (verdict.status, verdict.reason) == ("not-run", Reason.TIMEOUT)
    assert decide_control([run], []).reason == Reason.TIMEOUT
