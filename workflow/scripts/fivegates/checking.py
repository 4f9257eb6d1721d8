"""Gate 2 on the host, decided: what the CUDA-aware checker and its second opinion say.

One run of the checker answers for five tools: memcheck, racecheck, initcheck, synccheck
and undefined. AddressSanitizer looks at the same launches for memory errors; a pass of
memcheck needs both. A notice is what a device allows and a reader should know.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fivegates.errors import ArtifactError
from fivegates.findings import Finding, parse_address_text, place
from fivegates.record import TOOL_REASONS, Reason, Verdict

CHECKS = tuple(TOOL_REASONS)
CHECKED, ADDRESS = "checked", "address"
CHECKED_LOG, ADDRESS_LOG = "checked.jsonl", "address.txt"
CENSUS_LOG = "census.jsonl"
FOUND_EXIT_STATUS = 99
FINDINGS_KEPT = 20

HAZARDS: Mapping[str, tuple[str, str]] = {
    "RAW": ("read", "written"),
    "WAW": ("written", "written"),
    "WAR": ("written", "read"),
}
UNDEFINED: Mapping[str, str] = {
    "add_overflow": "signed integer overflow in a sum",
    "sub_overflow": "signed integer overflow in a difference",
    "mul_overflow": "signed integer overflow in a product",
    "negate_overflow": "signed integer overflow in a negation",
    "divrem_overflow": "division by zero, or its quotient overflows",
    "shift_out_of_bounds": "shift by more bits than the type has",
    "out_of_bounds": "index outside its array",
    "float_cast_overflow": "value outside the range of the type it is converted to",
    "load_invalid_value": "value that its type does not have",
    "pointer_overflow": "pointer arithmetic that wraps around",
}
MEETINGS: Mapping[str, str] = {
    "divergent-barriers": "threads of one block wait at different barriers, the other "
    "is at line {other_line}, thread {other_thread}",
    "barrier-after-exit": "barrier that thread {other_thread} left before it came",
    "mask-names-exited-lane": "the mask names thread {other_thread}, which has exited",
    "inactive-lane": "the shuffle reads thread {other_thread}, which takes no part",
    "caller-not-in-mask": "the mask does not name the thread that calls",
    "deadlock": "deadlock: thread {other_thread} waits at line {other_line}",
}


def spoken(row: Mapping[str, Any]) -> str:
    """One finding of the checker in words; its own place is told apart from it."""
    kind = row["kind"]
    match row["check"]:
        case "racecheck":
            return _race(row)
        case "initcheck":
            return (
                f"uninitialised read of size {row['size']}, {row['space']} "
                f"{row['object']}, offset {row['offset']}"
            )
        case "synccheck":
            other = _position(row["other_thread"])
            return MEETINGS[kind].format(
                other_line=row["other_line"], other_thread=other
            )
        case "undefined":
            return UNDEFINED.get(kind, str(kind).replace("_", " "))
    if kind == "misaligned" and "object" not in row:
        return "misaligned access"
    if kind == "misaligned":
        return (
            f"misaligned access of size {row['size']}, {row['object']}, "
            f"offset {row['offset']}"
        )
    text = str(kind).replace("-", " ")
    if "object" not in row:
        return text
    return (
        f"{text} of size {row['size']}, {row['distance']} bytes {row['side']} "
        f"{row['object']} of {row['object_bytes']} bytes"
    )


def _race(row: Mapping[str, Any]) -> str:
    now, before = HAZARDS[row["kind"]]
    other = _position(row["other_thread"])
    if row["other_block"] != row["block"]:
        other = f"{other} of block {_position(row['other_block'])}"
    return (
        f"race, {row['kind']} on {row['space']} {row['object']}: {now} here, {before} "
        f"at line {row['other_line']} by thread {other}, nothing orders the two"
    )


def _position(numbers: Sequence[int]) -> str:
    return f"({','.join(map(str, numbers))})"


def derive_checked(
    tool: str, log: str, entry: str, run: Mapping[str, Any]
) -> dict[str, Any]:
    """What the checker's log holds for one tool. `log` has a JSON object a line."""
    rows = [json.loads(line) for line in log.splitlines()]
    not_kept = sum(row.get("not_kept", 0) for row in rows)
    found = [row for row in rows if "check" in row]
    errors = [row for row in found if row["level"] == "error"]
    mine = [row for row in found if row["check"] == tool]
    return {
        "tool": tool,
        "exit_status": run["exit_status"],
        "completed": run["completed"],
        "errors": _count(mine, "error"),
        "notices": _count(mine, "notice"),
        "not_kept": not_kept,
        # Every error in the log is one that the process counted, and none is missing.
        "complete": run["reports"] is not None
        and run["reports"] - not_kept <= sum(row["count"] for row in errors)
        and sum(row["count"] for row in errors) <= run["reports"],
        "findings": [asdict(_finding(row, entry)) for row in _first(mine)],
    }


def _count(rows: Sequence[Mapping[str, Any]], level: str) -> int:
    return sum(row["count"] for row in rows if row["level"] == level)


def _first(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Errors before notices, at most FINDINGS_KEPT of them."""
    return sorted(rows, key=lambda row: row["level"] != "error")[:FINDINGS_KEPT]


def _finding(row: Mapping[str, Any], entry: str) -> Finding:
    block, thread = tuple(row["block"]), tuple(row["thread"])
    return Finding(
        check=row["check"],
        level="Error" if row["level"] == "error" else "Notice",
        text=spoken(row),
        kernel=entry,
        file=row["file"],
        line=row["line"],
        block=block,
        thread=thread,
    )


def derive_address(text: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """What AddressSanitizer's text holds."""
    found = parse_address_text(text)
    return {
        "tool": "AddressSanitizer",
        "exit_status": run["exit_status"],
        "completed": run["completed"],
        "errors": len(found),
        "notices": 0,
        "not_kept": 0,
        "complete": run["reports"] in (None, len(found)),
        "findings": [asdict(finding) for finding in found[:FINDINGS_KEPT]],
    }


def require_runs(name: str, runs: Sequence[Mapping[str, Any]], *, second: bool) -> None:
    """ArtifactError unless the runs are those that this gate must have."""
    expected = (CHECKED, ADDRESS) if second else (CHECKED,)
    names = tuple(run["name"] for run in runs)
    if names != expected:
        raise ArtifactError(f"{name}: runs are {names}, expected {expected}")
    for run in runs:
        answered = run["launches"] or run["errors"] or run["limit"]
        if run["completed"] and not answered:
            raise ArtifactError(f"{name}: no launch was checked")


def derive(
    tool: str, runs: Sequence[Mapping[str, Any]], logs: Mapping[str, str], entry: str
) -> list[dict[str, Any]]:
    """What each run found for one tool, from its log."""
    return [
        derive_checked(tool, logs[CHECKED_LOG], entry, run)
        if run["name"] == CHECKED
        else derive_address(logs[ADDRESS_LOG], run)
        for run in runs
    ]


def judge(
    runs: Sequence[Mapping[str, Any]], derived: Sequence[Mapping[str, Any]]
) -> Verdict:
    """The verdict of one tool on one kernel, by the checker and its second opinion."""
    checked, *opinions = derived
    if checked["errors"]:
        return _failed(checked, opinions)
    for run in runs:
        if run["exit_status"] is None:
            return Verdict.not_run(Reason.TIMEOUT, f"{run['name']}: no end in time")
    for opinion in opinions:
        if opinion["errors"]:
            where = place(opinion["findings"][0])
            return Verdict.fail(Reason.MEMORY_ERROR, f"AddressSanitizer alone: {where}")
    for run, found in zip(runs, derived, strict=True):
        if refusal := _shortfall(run, found):
            return refusal
    return Verdict.passed(f"0 errors{_notices(checked)}")


def _failed(
    checked: Mapping[str, Any], opinions: Sequence[Mapping[str, Any]]
) -> Verdict:
    plural = "" if checked["errors"] == 1 else "s"
    agreed = any(opinion["errors"] for opinion in opinions)
    note = "; AddressSanitizer agrees" if agreed else ""
    return Verdict.fail(
        TOOL_REASONS[checked["tool"]],
        f"{checked['errors']} error{plural}, {place(checked['findings'][0])}{note}",
    )


def with_proof(verdict: Verdict, proof: Mapping[str, Any] | None) -> Verdict:
    """The verdict of racecheck beside what a static prover said of the same kernel."""
    if verdict.status != "pass" or proof is None:
        return verdict
    said = f"{proof['tool']}: {proof['result']}, {proof['detail']}"
    if proof["result"] in ("potential_race", "not_wellsynced"):
        return Verdict.inconclusive(Reason.HAZARD_WARNING, said)
    return Verdict.passed(f"{verdict.message}; {said}")


def _notices(checked: Mapping[str, Any]) -> str:
    if not checked["notices"]:
        return ""
    plural = "" if checked["notices"] == 1 else "s"
    return f", {checked['notices']} notice{plural}: {place(checked['findings'][0])}"


def _shortfall(run: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict | None:
    """Why a run without errors of this tool is still no clean run of it."""
    if limit := run["limit"]:
        return Verdict.not_run(Reason.LIMIT_REACHED, f"{run['name']}: {limit}")
    if not found["completed"] or found["exit_status"] not in (0, FOUND_EXIT_STATUS):
        return Verdict.not_run(
            Reason.PROCESS_FAILED,
            f"{run['name']}: exit status {found['exit_status']}, {run['last_words']}",
        )
    if not found["complete"] or found["not_kept"]:
        return Verdict.not_run(
            Reason.EVIDENCE_DISAGREES, f"{run['name']}: the log is not complete"
        )
    if run["errors"]:
        return Verdict.not_run(
            Reason.PROCESS_FAILED, f"{run['name']}: {run['errors'][0]}"
        )
    return None


def judge_control(
    tool: str, runs: Sequence[Mapping[str, Any]], derived: Sequence[Mapping[str, Any]]
) -> Verdict:
    """A control passes when every run found the planted fault, in its own kernel."""
    verdict = judge(runs, derived)
    right = verdict.reason == TOOL_REASONS[tool]
    for run, found in zip(runs, derived, strict=True):
        if not (right and _caught(tool, found)):
            said = f"{run['name']} did not catch the planted fault {tool}"
            return Verdict.not_run(
                Reason.CONTROL_NOT_CAUGHT, f"{said}: {verdict.message}"
            )
    return Verdict.passed(f"caught the planted fault: {tool}")


def _caught(tool: str, found: Mapping[str, Any]) -> bool:
    kernels = {finding["kernel"] for finding in found["findings"]}
    whole = found["complete"] and found["exit_status"] == FOUND_EXIT_STATUS
    return bool(found["errors"]) and whole and kernels == {f"control_{tool}"}


def derive_census(log: str) -> list[dict[str, Any]]:
    """Accesses of each source line as a memory system would be asked, per request.

    Counted on the host from what the source means: requests of a warp, 32-byte sectors
    of global memory, passes over the banks of shared memory. Never traffic, never time.
    """
    return [_per_request(json.loads(line)) for line in log.splitlines()]


def _per_request(row: Mapping[str, Any]) -> dict[str, Any]:
    unit = "bank_passes" if "bank_passes" in row else "sectors"
    requests = row["requests"]
    return {
        "line": row["line"],
        "access": row["access"],
        "requests": requests,
        "bytes": row["bytes"],
        "lanes_per_request": row["lanes"] / requests,
        "unit": unit,
        "units_per_request": row[unit] / requests,
        "ideal_units_per_request": row["ideal"] / requests,
    }
