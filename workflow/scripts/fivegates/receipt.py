"""Gate 5, decided: the claim's verdict from every record, and the binding receipt.

The receipt is a function of its evidence. The verifier calls the same function on what
the store holds and compares; what differs was not derived from that evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from fivegates import v1
from fivegates.arm import Role
from fivegates.claim import Boundary
from fivegates.conclusion import conclude, receipt_status
from fivegates.evidence import Evidence, session_records
from fivegates.expression import evaluate
from fivegates.inference import POWER
from fivegates.plan import rounds_of, samples_of
from fivegates.record import Artifact
from fivegates.summary import summary

# What an interval is read from.
TIMERS: Mapping[Boundary, str] = {
    "device": "CUDA events around work queued behind a held stream",
    "graph": "CUDA events around replays queued behind a held stream",
    "launch": "host's clock from submission to completion",
    "end-to-end": "host's clock from the first transfer to the last",
    "cold-start": "host's clock in a fresh process a sample",
}
TIMING_RESULTS = (
    "kind",
    "outcome",
    "method",
    "unit",
    "baseline_median_us",
    "candidate_median_us",
    "baseline_floor_us",
    "candidate_floor_us",
    "session_speedups",
    "smallest_effect_ratio",
    "components",
)
# What each session says beside its ratio: sensitivity, controls, broken assumptions.
SESSION_CHECKS = (
    "speedup",
    "null",
    "cycles",
    "order_effect",
    "half_effect",
    "drift_ratio",
    "repeat",
    "poisoned",
    "control_ratio",
    "broken_laws",
    "outliers",
    "baseline_single",
    "candidate_single",
)
Kind = Literal["declared", "measured", "derived"]

# How each value of a receipt came about; the longest matching path counts.
PROVENANCE: Mapping[str, Kind] = {
    **{
        path: kind
        for path, kind in v1.PROVENANCE.items()
        if not path.startswith("result.")
    },
    "hardware.clock_policy": "derived",
    "result.kind": "declared",
    "result.method": "declared",
    "result.smallest_effect_power": "declared",
    "result.speedup.confidence": "declared",
    "calibration": "derived",
}


def build(evidence: Evidence) -> dict[str, Any]:
    """The receipt of this evidence."""
    claim, backend = evidence.claim, evidence.backend
    status, reason, message = conclude(backend, evidence.records)
    receipt = {
        "schema": f"fivegates:receipt/v{claim.version}",
        "name": claim.name,
        "claim": claim.sentence,
        "margin": claim.margin,
        "backend": backend.kind,
        "status": receipt_status(evidence),
        "verdict": {"status": status, "reason": str(reason), "message": message},
        "created_at": evidence.assembly["created_at"],
        "source": _source(evidence, "candidate"),
        "baseline_source": _source(evidence, "baseline"),
        "platform": {"name": backend.platform, "packages": dict(backend.packages)},
        "workload": _workload(evidence),
        "correctness": _correctness(evidence),
        "artifacts": _artifacts(evidence),
        "tools": _tools(evidence),
        "harness": _named(evidence, "harness.json").sha256,
        "gates": _gates(evidence),
        "evidence": [
            asdict(item) for item in sorted(evidence.artifacts, key=lambda a: a.name)
        ],
        **({} if claim.version == 1 else {"calibration": evidence.calibration}),
        "provenance": v1.PROVENANCE if claim.version == 1 else dict(PROVENANCE),
    }
    if claim.portfolio is not None:
        receipt["portfolio"] = dict(claim.portfolio)
    if backend.device is not None:
        receipt["hardware"] = _hardware(evidence)
    if backend.kind == "cuda" and status != "refused":
        first = claim.version == 1
        receipt |= {
            "measurement": (v1.measurement if first else _measurement)(evidence),
            "result": (v1.result if first else _result)(evidence),
            "roofline": _roofline(evidence),
        }
    return receipt | {"summary": summary(evidence, receipt)}


def _gates(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "status": record.verdict.status,
            "reason": str(record.verdict.reason),
            "sha256": evidence.record_sha256[name],
        }
        for name, record in evidence.records.items()
    ]


def _named(evidence: Evidence, suffix: str) -> Artifact:
    return next(item for item in evidence.artifacts if item.name.endswith(suffix))


def _source(evidence: Evidence, role: Role) -> dict[str, Any]:
    arm = evidence.claim.arms[role]
    build_record = evidence.records[f"{role}/build"]
    compiled = {} if build_record.result is None else build_record.measured
    (file,) = (f for f in evidence.sources[role]["files"] if f["name"] == arm.source)
    return {
        **{key: evidence.assembly[key] for key in ("repository", "commit", "dirty")},
        "entry": arm.entry,
        "file": arm.source,
        "file_sha256": file["sha256"],
        "binary_sha256": [item.sha256 for item in build_record.artifacts],
        "compiler": compiled.get("compiler"),
        "flags": compiled.get("flags"),
    }


def _workload(evidence: Evidence) -> dict[str, Any]:
    workload = evidence.claim.workload
    reference = evidence.records["candidate/reference"].result
    declared = {} if reference is None else reference["declared"]
    return {
        "operation": evidence.claim.operation,
        "formula": declared.get("formula"),
        "dtype": workload.dtype,
        "sizes": dict(workload.sizes),
        "boundary": workload.boundary,
        "cache_regime": workload.cache_regime,
        "threads_per_block": math.prod(
            evaluate(extent, workload.sizes)
            for extent in evidence.claim.arms["candidate"].block
        ),
        "rotation_slots": evidence.session_fact("slots"),
    }


def _correctness(evidence: Evidence) -> dict[str, Any]:
    references = [
        record.result
        for name, record in evidence.records.items()
        if name.endswith("/reference") and record.result is not None
    ]
    memcheck = evidence.records["candidate/sanitizer/memcheck"].result
    runs = [] if memcheck is None else memcheck["derived"]["runs"]
    errors = "errors" if evidence.backend.kind == "host" else "text_errors"
    return {
        "reference": references[0]["declared"]["reference"] if references else None,
        "atol": evidence.claim.tolerance.atol,
        "rtol": evidence.claim.tolerance.rtol,
        "cases": sum(result["derived"]["cases"] for result in references),
        "launches": sum(result["derived"]["launches"] for result in references),
        "failures": sum(result["derived"]["failures"] for result in references),
        "memcheck_errors": runs[0][errors] if runs else None,
        "sanitizer_exit_status": runs[0]["exit_status"] if runs else None,
        "sanitizer_version": (
            None if memcheck is None else memcheck["measured"]["tool"]["version"]
        ),
    }


def _artifacts(evidence: Evidence) -> dict[str, Any]:
    def ending(*suffixes: str) -> list[str]:
        names = sorted(item.name for item in evidence.artifacts)
        return [name for name in names if name.endswith(suffixes)]

    sessions = sorted(
        (record.run.started_at, item.name)
        for record in evidence.records.values()
        for item in record.artifacts
        if item.name.endswith("/state.csv")
    )
    return {
        "systems": None,
        "compute": None,
        "sanitizer": [
            name for name in ending(".txt", ".xml", ".jsonl") if "/sanitizer/" in name
        ],
        "gpu_state_before": sessions[0][1] if sessions else None,
        "gpu_state_after": sessions[-1][1] if sessions else None,
    }


def _tools(evidence: Evidence) -> list[dict[str, Any]]:
    seen = {
        tool["name"]: tool
        for record in evidence.records.values()
        if record.result is not None
        for tool in [record.result["measured"].get("tool")]
        if tool is not None
    }
    return [dict(seen[name]) for name in sorted(seen)]


def _hardware(evidence: Evidence) -> dict[str, Any]:
    device = evidence.backend.device
    return {
        **({} if device is None else asdict(device)),
        "clock_policy": _clock_policy(evidence),
        "isolation": _isolation(evidence),
    }


def _clock_policy(evidence: Evidence) -> str:
    """Locked where every session saw clocks that someone had set."""
    seen = {state.get("clock_policy", "observed") for state in _states(evidence)}
    return "locked" if seen == {"locked"} else "observed"


def _states(evidence: Evidence) -> list[Mapping[str, Any]]:
    """State of the device in each session that ran to its end."""
    first = evidence.claim.version == 1
    found = [
        record.derived["state" if first else "statistics"]
        for name, record in evidence.records.items()
        if name.startswith("timing/") and record.result is not None
    ]
    return [part if first else part["state"] for part in found if part is not None]


def _isolation(evidence: Evidence) -> str:
    """What sessions saw of others on the device; seeing none is not being alone."""
    counts = [state["compute_processes"] for state in _states(evidence)]
    if not counts or not all(counts):
        return "unknown"
    return "other compute processes" if max(counts) > 1 else "no other compute process"


def _measurement(evidence: Evidence) -> dict[str, Any]:
    policy, kind = evidence.claim.policy.timing, evidence.claim.workload.kind
    raw = evidence.raw_samples()
    return {
        "timer": TIMERS[kind.boundary],
        "warmup": {
            "launches": evidence.session_fact("warmup_launches"),
            "rule": f"until medians of latency and SM clock over eight steps differ by "
            f"at most {policy.warmup_tolerance:g} from those of the eight before, "
            f"after {policy.warmup_launches} launches and {policy.warmup_s:g} s; cut "
            f"off at {policy.warmup_cap_s:g} s",
        },
        "samples": samples_of(evidence.claim),
        "launches_per_sample": evidence.session_fact("launches_per_graph"),
        "rounds": rounds_of(evidence.claim),
        "sessions": evidence.sessions,
        "planned_sessions": policy.sessions,
        "order": "ABBA and BAAB, half of each as drawn; module, graph and place of the "
        "buffers anew in each round, comparisons in drawn order",
        "stop": "after the last round of the plan",
        "location": "midmean of a block's samples",
        "raw_samples": [item.name for item in raw],
        "raw_sample_sha256": [item.sha256 for item in raw],
        "quantiles": "linear interpolation at q*(N-1)",
        "profiler_attached": False,
    }


def _result(evidence: Evidence) -> dict[str, Any] | None:
    record = evidence.records["timing"]
    if record.result is None:
        return None
    timing, policy = record.derived, evidence.claim.policy.timing
    sessions = [
        evidence.records[name].derived for name in session_records(evidence.records)
    ]
    statistics = [session["statistics"] for session in sessions]
    return {
        **{key: timing[key] for key in TIMING_RESULTS},
        "speedup": {**timing["speedup"], "confidence": policy.confidence},
        "session_speedup_range": [
            min(timing["session_speedups"]),
            max(timing["session_speedups"]),
        ],
        "null_interval": [timing["null_lower"], timing["null_upper"]],
        "smallest_effect_power": POWER,
        "session_checks": [
            {key: found[key] for key in SESSION_CHECKS} for found in statistics
        ],
        "clock_commands": sessions[0]["clock_commands"],
    }


def _roofline(evidence: Evidence) -> dict[str, Any] | None:
    record = evidence.records["roofline"]
    if record.result is None:
        return None
    declared = record.result["declared"]
    return {
        **record.derived,
        "useful_bytes": declared["useful_bytes"],
        "bytes_source": "contract",
        "flops": declared["flops"],
    }
