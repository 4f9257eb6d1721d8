"""What all records of a claim say together."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from fivegates.backend import Backend
from fivegates.evidence import Evidence, session_records
from fivegates.record import Reason, Record, Verdict
from fivegates.state import is_complete

CONFIRMING_SESSIONS = 3
DEVICE_GATES = ("timing", "roofline")

ClaimStatus = Literal["supported", "not-supported", "inconclusive", "refused"]
ReceiptStatus = Literal["preflight", "provisional", "confirmed"]


def conclude(
    backend: Backend, records: Mapping[str, Record]
) -> tuple[ClaimStatus, Reason | str, str]:
    """Status, reason and message of the claim.

    The first failure refuses. A gate that could not say yes refuses too, but for what
    timing and roofline could not decide, and what a host backend cannot have.
    """
    refusals = [
        (n, r.verdict) for n, r in records.items() if r.verdict.status == "fail"
    ]
    open_ends = [
        (n, r.verdict) for n, r in records.items() if r.verdict.status != "pass"
    ]
    for name, verdict in [*refusals, *open_ends]:
        if excused(backend, name, verdict):
            continue
        decided = verdict.status == "inconclusive" and name.startswith(DEVICE_GATES)
        status: ClaimStatus = "inconclusive" if decided else "refused"
        return status, verdict.reason, f"{name}: {verdict.message}"
    if backend.kind == "host":
        return (
            "inconclusive",
            Reason.NO_DEVICE,
            "passed on the host; no device, no timing",
        )
    found = records["timing"].derived["outcome"]
    status = "supported" if found == "faster" else "not-supported"
    return status, found, f"candidate is {found}"


def excused(backend: Backend, name: str, verdict: Verdict) -> bool:
    """A host has no device: that costs it gates 3 and 4, no more."""
    lacking = verdict.status == "not-run" and verdict.reason == Reason.NO_DEVICE
    return backend.kind == "host" and lacking and name.startswith(DEVICE_GATES)


def receipt_status(evidence: Evidence) -> ReceiptStatus:
    """Preflight without a device; confirmed when sessions that agree lie far apart."""
    if evidence.backend.kind == "host":
        return "preflight"
    policy = evidence.claim.policy.timing
    starts = [
        datetime.fromisoformat(record.run.started_at)
        for name, record in evidence.records.items()
        if name.startswith("timing/") and record.verdict.status == "pass"
    ]
    agree = evidence.records["timing"].verdict.status == "pass"
    if not agree or len(starts) < CONFIRMING_SESSIONS:
        return "provisional"
    if not _states_known(evidence):
        return "provisional"
    span_s = (max(starts) - min(starts)).total_seconds()
    return "confirmed" if span_s >= policy.confirm_after_s else "provisional"


def _states_known(evidence: Evidence) -> bool:
    """Whether clocks, throttling and other processes were seen in every session."""
    return evidence.claim.version == 1 or all(
        is_complete(evidence.records[name].derived["statistics"]["state"])
        for name in session_records(evidence.records)
    )
