"""Gate 2, decided: what a sanitizer's records, text and exit status say together.

A pass needs all three to be present, complete and clean, and the kernel's process to
have reached its end. Any finding in any of them fails. What is left is `not-run` or
`inconclusive`: a tool that saw nothing has not looked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fivegates.backend import Kind
from fivegates.errors import ArtifactError
from fivegates.findings import (
    Finding,
    Summary,
    parse_host_text,
    parse_summary,
    parse_xml,
)
from fivegates.record import Reason, Verdict

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
COMMAND = "compute-sanitizer"
ERROR_EXIT_STATUS = 99
FINDINGS_KEPT = 20
API_KINDS = ("Api", "Sanitizer")

REASONS: Mapping[str, Reason] = {
    "memcheck": Reason.MEMORY_ERROR,
    "racecheck": Reason.RACE,
    "initcheck": Reason.UNINITIALIZED_READ,
    "synccheck": Reason.BARRIER_ERROR,
    "undefined": Reason.UNDEFINED_BEHAVIOR,
}


def derive_cuda(
    tool: str, *, xml: str | None, text: str, exit_status: int, completed: bool
) -> dict[str, Any]:
    """What one compute-sanitizer run found, read from its three sources."""
    records = None if xml is None else parse_xml(xml)
    found = records or ()
    device = [finding for finding in found if finding.check not in API_KINDS]
    return _derived(
        tool,
        exit_status=exit_status,
        completed=completed,
        records=None if records is None else len(records),
        summary=parse_summary(tool, text),
        device=device,
        api_errors=len(found) - len(device),
    )


def derive_host(
    tool: str, *, text: str, reports: int | None, exit_status: int, completed: bool
) -> dict[str, Any]:
    """What one sanitized host run found: its text, the runner's count, its exit status.

    `reports` is the runner's own count of sanitizer call-backs, None where the process
    did not live to write it.
    """
    found = parse_host_text(text)
    return _derived(
        tool,
        exit_status=exit_status,
        completed=completed,
        records=reports,
        summary=Summary(errors=len(found), warnings=0, not_printed=0),
        device=found,
        api_errors=0,
    )


def _derived(
    tool: str,
    *,
    exit_status: int,
    completed: bool,
    records: int | None,
    summary: Summary | None,
    device: Sequence[Finding],
    api_errors: int,
) -> dict[str, Any]:
    warnings = sum(finding.level == "Warning" for finding in device)
    return {
        "tool": tool,
        "exit_status": exit_status,
        "completed": completed,
        "records": records,
        "device_errors": len(device) - warnings,
        "device_warnings": warnings,
        "api_errors": api_errors,
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
    """The verdict of one tool on one kernel, whichever backend it ran on."""
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
        place = _place(derived["findings"][0]) if derived["findings"] else "not located"
        return Verdict.inconclusive(
            Reason.HAZARD_WARNING, f"{derived['text_warnings']} warnings, {place}"
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
        REASONS.get(first["check"], REASONS[derived["tool"]]),
        f"{count} error{plural}, {_place(first)}{note}",
    )


def _agree(derived: Mapping[str, Any]) -> bool:
    """Whether records, text and exit status tell of the same number of errors."""
    if derived["records"] is None or derived["text_errors"] is None:
        return False
    told = derived["text_errors"] + derived["text_warnings"] - derived["not_printed"]
    return bool(
        derived["records"] == told and derived["exit_status"] == ERROR_EXIT_STATUS
    )


def _place(finding: Mapping[str, Any]) -> str:
    parts = [f'"{finding["text"]}"']
    if finding["kernel"]:
        parts.append(f"in {finding['kernel']}")
    if finding["file"]:
        parts.append(f"at {finding['file']}:{finding['line']}")
    if finding["block"] is not None:
        parts.append(f"block {_triple(finding['block'])}")
    if finding["thread"] is not None:
        parts.append(f"thread {_triple(finding['thread'])}")
    return " ".join(parts)


def _triple(position: Sequence[int]) -> str:
    return f"({','.join(map(str, position))})"


def controls(kind: Kind, tool: str) -> tuple[str, ...]:
    """Planted faults that the tool must catch; none where it cannot run at all."""
    if kind == "cuda":
        return (tool,)
    return ("memcheck", "undefined") if tool == "memcheck" else ()


def require_runs(gate: str, kind: Kind, tool: str, measured: Mapping[str, Any]) -> None:
    """ArtifactError unless the runs are those of this gate, under this tool."""
    expected = controls(kind, tool) if gate == "control" else (tool,)
    names = tuple(run["name"] for run in measured["runs"])
    if names != expected:
        raise ArtifactError(f"{gate} {tool}: runs are {names}, expected {expected}")
    for run in measured["runs"]:
        if kind == "cuda" and run["command"][:3] != [COMMAND, "--tool", tool]:
            raise ArtifactError(
                f"{gate} {tool}: command is {' '.join(run['command'])}, expected "
                f"{COMMAND} --tool {tool}"
            )
        if run["completed"] and run["launches"] < 1:
            raise ArtifactError(f"{gate} {tool}: no launch was checked")


def derive(
    kind: Kind, tool: str, runs: Sequence[Mapping[str, Any]], logs: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What each finished run found; `logs` has texts of `<run>.xml`, `<run>.txt`."""
    return [
        _derive_run(kind, tool, run, logs)
        for run in runs
        if run["exit_status"] is not None
    ]


def _derive_run(
    kind: Kind, tool: str, run: Mapping[str, Any], logs: Mapping[str, str]
) -> dict[str, Any]:
    text = logs[f"{run['name']}.txt"]
    if kind == "host":
        return derive_host(
            tool,
            text=text,
            reports=run["reports"],
            exit_status=run["exit_status"],
            completed=run["completed"],
        )
    return derive_cuda(
        tool,
        xml=logs.get(f"{run['name']}.xml"),
        text=text,
        exit_status=run["exit_status"],
        completed=run["completed"],
    )


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
        and verdict.reason == REASONS[name]
        and kernels == {f"control_{name}"}
        and _agree(derived)
    )
