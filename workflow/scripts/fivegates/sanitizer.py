"""Gate 2 on a device, decided: what records, text and exit status say together.

A pass needs all three to be present, complete and clean, and the kernel's process to
have reached its end. Any finding in any of them fails. What is left is `not-run` or
`inconclusive`: a tool that saw nothing has not looked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fivegates.errors import ArtifactError
from fivegates.findings import Finding, parse_summary, parse_xml, place
from fivegates.record import TOOL_REASONS, Reason, Verdict

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
COMMAND = "compute-sanitizer"
ERROR_EXIT_STATUS = 99
FINDINGS_KEPT = 20
API_KINDS = ("Api", "Sanitizer")


def derive_run(
    tool: str, *, xml: str | None, text: str, exit_status: int, completed: bool
) -> dict[str, Any]:
    """What one compute-sanitizer run found, read from its three sources."""
    records = None if xml is None else parse_xml(xml)
    found = records or ()
    device = [finding for finding in found if finding.check not in API_KINDS]
    warnings = sum(finding.level == "Warning" for finding in device)
    summary = parse_summary(tool, text)
    return {
        "tool": tool,
        "exit_status": exit_status,
        "completed": completed,
        "records": None if records is None else len(records),
        "device_errors": len(device) - warnings,
        "device_warnings": warnings,
        "api_errors": len(found) - len(device),
        "text_errors": None if summary is None else summary.errors,
        "text_warnings": None if summary is None else summary.warnings,
        "not_printed": None if summary is None else summary.not_printed,
        "findings": _distinct(device),
    }


def _distinct(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """The first finding of each kind and line, at most FINDINGS_KEPT of them."""
    first: dict[tuple[str, str, int | None], Finding] = {}
    for finding in findings:
        first.setdefault((finding.check, finding.text, finding.line), finding)
    return [asdict(finding) for finding in list(first.values())[:FINDINGS_KEPT]]


def judge(derived: Mapping[str, Any]) -> Verdict:
    """The verdict of one tool on one kernel."""
    errors = derived["text_errors"] or 0
    if derived["device_errors"]:
        return _failed(derived)
    if errors and derived["api_errors"]:
        return Verdict.inconclusive(
            Reason.API_ERROR, f"{derived['api_errors']} API errors, none in the kernel"
        )
    if errors:
        return Verdict.fail(Reason.EVIDENCE_DISAGREES, _sources(derived))
    if derived["device_warnings"] or derived["text_warnings"]:
        found = derived["findings"]
        where = place(found[0]) if found else "not located"
        return Verdict.inconclusive(
            Reason.HAZARD_WARNING, f"{derived['text_warnings']} warnings, {where}"
        )
    if shortfall := _shortfall(derived):
        return shortfall
    return Verdict.passed("0 errors")


def _shortfall(derived: Mapping[str, Any]) -> Verdict | None:
    """Why a run without findings is still no clean run."""
    status = derived["exit_status"]
    if status == ERROR_EXIT_STATUS or derived["records"]:
        return Verdict.not_run(Reason.EVIDENCE_DISAGREES, _sources(derived))
    if status != 0:
        return Verdict.not_run(Reason.PROCESS_FAILED, f"exit status {status}")
    if derived["records"] is None or derived["text_errors"] is None:
        return Verdict.not_run(Reason.PROCESS_FAILED, "no complete log")
    if not derived["completed"]:
        return Verdict.not_run(Reason.PROCESS_FAILED, "the kernel's process broke off")
    return None


def _sources(derived: Mapping[str, Any]) -> str:
    return (
        f"text {derived['text_errors']} errors, "
        f"records {derived['records']}, exit status {derived['exit_status']}"
    )


def _failed(derived: Mapping[str, Any]) -> Verdict:
    first = derived["findings"][0]
    count = max(derived["device_errors"], derived["text_errors"] or 0)
    plural = "" if count == 1 else "s"
    note = "" if _agree(derived) else f" ({_sources(derived)})"
    return Verdict.fail(
        TOOL_REASONS.get(first["check"], TOOL_REASONS[derived["tool"]]),
        f"{count} error{plural}, {place(first)}{note}",
    )


def _agree(derived: Mapping[str, Any]) -> bool:
    """Whether records, text and exit status tell of the same number of errors."""
    if derived["records"] is None or derived["text_errors"] is None:
        return False
    told = derived["text_errors"] + derived["text_warnings"] - derived["not_printed"]
    return bool(
        derived["records"] == told and derived["exit_status"] == ERROR_EXIT_STATUS
    )


def require_runs(gate: str, tool: str, measured: Mapping[str, Any]) -> None:
    """ArtifactError unless the run is that of this gate, under this tool."""
    names = tuple(run["name"] for run in measured["runs"])
    if names != (tool,):
        raise ArtifactError(f"{gate} {tool}: runs are {names}, expected {(tool,)}")
    for run in measured["runs"]:
        if run["command"][:3] != [COMMAND, "--tool", tool]:
            raise ArtifactError(
                f"{gate} {tool}: command is {' '.join(run['command'])}, expected "
                f"{COMMAND} --tool {tool}"
            )
        if run["completed"] and run["launches"] < 1:
            raise ArtifactError(f"{gate} {tool}: no launch was checked")


def derive(
    tool: str, runs: Sequence[Mapping[str, Any]], logs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What each finished run found; `logs` has texts of `<run>.xml`, `<run>.txt`."""
    return [
        derive_run(
            tool,
            xml=logs.get(f"{run['name']}.xml"),
            text=logs[f"{run['name']}.txt"],
            exit_status=run["exit_status"],
            completed=run["completed"],
        )
        for run in runs
        if run["exit_status"] is not None
    ]


def decide(
    runs: Sequence[Mapping[str, Any]], derived: Sequence[Mapping[str, Any]]
) -> Verdict:
    """The verdict on one arm from its one run."""
    if any(run["exit_status"] is None for run in runs):
        return Verdict.not_run(Reason.TIMEOUT, "did not end in time")
    return judge(derived[0])


def decide_control(
    runs: Sequence[Mapping[str, Any]], derived: Sequence[Mapping[str, Any]]
) -> Verdict:
    """A control passes when its planted fault was found, and for what it is."""
    for run in runs:
        if run["exit_status"] is None:
            return Verdict.not_run(
                Reason.TIMEOUT, f"{run['name']}: did not end in time"
            )
    for run, found in zip(runs, derived, strict=True):
        verdict = judge(found)
        if not _caught(run["name"], found, verdict):
            return Verdict.not_run(
                Reason.CONTROL_NOT_CAUGHT,
                f"did not catch the planted fault {run['name']}: {verdict.message}",
            )
    names = ", ".join(run["name"] for run in runs)
    return Verdict.passed(f"caught the planted fault: {names}")


def _caught(name: str, derived: Mapping[str, Any], verdict: Verdict) -> bool:
    """The planted fault, in the kernel that holds it, by sources that agree."""
    kernels = {finding["kernel"] for finding in derived["findings"]}
    return (
        verdict.status == "fail"
        and verdict.reason == TOOL_REASONS[name]
        and kernels == {f"control_{name}"}
        and _agree(derived)
    )
