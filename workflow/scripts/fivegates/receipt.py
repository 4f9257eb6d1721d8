"""Gate 5, decided: the claim's verdict from every record, and the binding receipt.

The receipt is a function of its evidence. The verifier calls the same function on what
the store holds and compares; what differs was not derived from that evidence.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from fivegates.arm import Role
from fivegates.conclusion import conclude, receipt_status
from fivegates.evidence import Evidence, session_name
from fivegates.expression import evaluate
from fivegates.record import Artifact
from fivegates.summary import summary

RECEIPT_SCHEMA = "fivegates:receipt/v1"
Kind = Literal["declared", "measured", "derived"]

# How each value of a receipt came about; the longest matching path counts.
PROVENANCE: Mapping[str, Kind] = {
    "schema": "declared",
    "name": "declared",
    "claim": "declared",
    "margin": "declared",
    "provenance": "declared",
    "backend": "measured",
    "created_at": "measured",
    "source": "measured",
    "source.entry": "declared",
    "source.file": "declared",
    "baseline_source": "measured",
    "baseline_source.entry": "declared",
    "baseline_source.file": "declared",
    "hardware": "measured",
    "hardware.clock_policy": "declared",
    "hardware.isolation": "derived",
    "platform": "measured",
    "workload": "declared",
    "workload.rotation_slots": "derived",
    "workload.threads_per_block": "derived",
    "correctness": "derived",
    "correctness.atol": "declared",
    "correctness.rtol": "declared",
    "correctness.reference": "declared",
    "correctness.sanitizer_exit_status": "measured",
    "correctness.sanitizer_version": "measured",
    "measurement": "declared",
    "measurement.launches_per_sample": "measured",
    "measurement.warmup.launches": "measured",
    "measurement.raw_samples": "measured",
    "measurement.raw_sample_sha256": "measured",
    "artifacts": "measured",
    "tools": "measured",
    "evidence": "measured",
    "harness": "measured",
    "result": "derived",
    "result.end_to_end_effect": "declared",
    "result.round_speedup_interval.method": "declared",
    "result.round_speedup_interval.confidence": "declared",
    "roofline": "derived",
    "roofline.useful_bytes": "declared",
    "roofline.bytes_source": "declared",
    "roofline.flops": "declared",
    "gates": "derived",
    "status": "derived",
    "verdict": "derived",
    "summary": "derived",
}


def build(evidence: Evidence) -> dict[str, Any]:
    """The receipt of this evidence."""
    claim, backend = evidence.claim, evidence.backend
    status, reason, message = conclude(backend, evidence.records)
    receipt = {
        "schema": RECEIPT_SCHEMA,
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
        "gates": [
            {
                "name": name,
                "status": record.verdict.status,
                "reason": str(record.verdict.reason),
                "sha256": evidence.record_sha256[name],
            }
            for name, record in evidence.records.items()
        ],
        "evidence": [
            asdict(item) for item in sorted(evidence.artifacts, key=lambda a: a.name)
        ],
        "provenance": dict(PROVENANCE),
    }
    if backend.device is not None:
        receipt["hardware"] = _hardware(evidence)
    if backend.kind == "cuda" and status != "refused":
        receipt |= {
            "measurement": _measurement(evidence),
            "result": _result(evidence),
            "roofline": _roofline(evidence),
        }
    return receipt | {"summary": summary(evidence, receipt)}


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
        "rotation_slots": _session_fact(evidence, "slots"),
    }


def _session_fact(evidence: Evidence, key: str) -> Any:
    first = evidence.records[f"timing/{session_name(1)}"].result
    facts = None if first is None else first["measured"]["facts"]
    return None if facts is None else facts[key]


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
        "clock_policy": "observed",
        "isolation": _isolation(evidence),
    }


def _isolation(evidence: Evidence) -> str:
    """What sessions saw of others on the device; seeing none is not being alone."""
    states = [
        record.derived["state"]
        for name, record in evidence.records.items()
        if name.startswith("timing/") and record.result is not None
    ]
    counts = [state["compute_processes"] for state in states if state is not None]
    if not counts or not all(counts):
        return "unknown"
    return "other compute processes" if max(counts) > 1 else "no other compute process"


def _measurement(evidence: Evidence) -> dict[str, Any]:
    policy = evidence.claim.policy.timing
    raw = sorted(
        (item for item in evidence.artifacts if item.name.endswith("/samples.csv")),
        key=lambda item: item.name,
    )
    return {
        "timer": "CUDA events around graphs of launches queued behind a held stream",
        "warmup": {
            "launches": _session_fact(evidence, "warmup_launches"),
            "rule": f"at least {policy.warmup_launches} launches, twice through every "
            f"slot, and {policy.warmup_s:g} s",
        },
        "samples": policy.samples,
        "launches_per_sample": _session_fact(evidence, "launches_per_graph"),
        "rounds": policy.rounds,
        "sessions": policy.sessions,
        "order": "ABBA and BAAB in turn, graphs captured anew each round",
        "raw_samples": [item.name for item in raw],
        "raw_sample_sha256": [item.sha256 for item in raw],
        "quantiles": "linear interpolation at q*(N-1)",
        "profiler_attached": False,
    }


def _result(evidence: Evidence) -> dict[str, Any] | None:
    record = evidence.records["timing"]
    if record.result is None:
        return None
    timing = record.derived
    return {
        "outcome": timing["outcome"],
        "baseline_median_us": timing["baseline_median_us"],
        "candidate_median_us": timing["candidate_median_us"],
        "baseline_floor_us": timing["baseline_floor_us"],
        "candidate_floor_us": timing["candidate_floor_us"],
        "round_speedup_median": timing["round_speedup_median"],
        "round_speedup_interval": {
            "method": "Student t over the log ratios of rounds in each session; "
            "lowest lower and highest upper end over sessions",
            "confidence": evidence.claim.policy.timing.confidence,
            "lower": timing["speedup_lower"],
            "upper": timing["speedup_upper"],
        },
        "session_speedup_range": [
            timing["session_speedup_min"],
            timing["session_speedup_max"],
        ],
        "null_interval": [timing["null_lower"], timing["null_upper"]],
        "smallest_effect_ratio": timing["smallest_effect_ratio"],
        "end_to_end_effect": "out of scope: the boundary is device",
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
