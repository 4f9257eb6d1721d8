"""The block that people read: in the receipt, from `verify`, and in the README."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fivegates import v1
from fivegates.arm import ROLES
from fivegates.conclusion import excused
from fivegates.evidence import Evidence, tools
from fivegates.plan import rounds_of
from fivegates.record import Verdict

# A tool's own text may not forge a line, nor move the cursor of a terminal.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def summary(evidence: Evidence, receipt: Mapping[str, Any]) -> list[str]:
    """The block that people read, a line a gate."""
    verdict = receipt["verdict"]
    refused = verdict["status"] == "refused"
    standing = "" if refused else f"{receipt['status']}; "
    lines = [
        f"{'claim':<10} {evidence.claim.name}  {evidence.claim.sentence}",
        *_one_of_several(evidence),
        *_gate_lines(evidence, refused=refused),
        f"{'verdict':<10} {verdict['status']:<12} {standing}{verdict['message']}",
    ]
    return [CONTROL.sub("?", line) for line in lines]


def _one_of_several(evidence: Evidence) -> Iterator[str]:
    """That this is a part of a claim, which is judged by all of them."""
    if evidence.claim.portfolio is not None:
        names = ", ".join(evidence.claim.portfolio["workloads"])
        yield f"{'workload':<10} one of {names}; the claim is judged by all of them"


def _gate_lines(evidence: Evidence, refused: bool) -> Iterator[str]:
    records = evidence.records
    for gate, chosen in (
        ("reference", [n for n in records if n.endswith(("/build", "/reference"))]),
        ("sanitizer", [n for n in records if "sanitizer/" in n or "control/" in n]),
        ("timing", [n for n in records if n.startswith("timing")]),
        ("roofline", ["roofline"]),
    ):
        verdicts = {name: records[name].verdict for name in chosen}
        exempt = {n for n, v in verdicts.items() if excused(evidence.backend, n, v)}
        judged = {n: v for n, v in verdicts.items() if n not in exempt} or verdicts
        name, verdict = _leading(judged)
        if verdict.status != "pass":
            text = verdict.message if name == gate else f"{name}: {verdict.message}"
        elif refused and gate in ("timing", "roofline"):
            text = "not shown: the claim is refused"
        else:
            text = _passed(evidence, gate)
        yield f"{gate:<10} {verdict.status:<12} {text}"


def _leading(verdicts: Mapping[str, Verdict]) -> tuple[str, Verdict]:
    """The verdict that decides a gate: a failure before what could not be decided."""
    order = ("fail", "inconclusive", "not-run", "pass")
    return min(verdicts.items(), key=lambda item: order.index(item[1].status))


def _passed(evidence: Evidence, gate: str) -> str:
    records = evidence.records
    if gate == "reference":
        derived = [records[f"{role}/reference"].derived for role in ROLES]
        errors = [d["max_rel_error"] for d in derived if d["max_rel_error"] is not None]
        return (
            f"{sum(d['cases'] for d in derived)} cases, "
            f"{sum(d['launches'] for d in derived)} launches, 0 failures, "
            f"max |y-r|/|r| {max(errors, default=0.0):.2g}"
        )
    if gate == "sanitizer":
        ran = tools(evidence.backend.kind)
        return ", ".join(f"{tool} 0 errors" for tool in ran) + "; controls caught"
    if gate == "timing":
        return v1.summary(evidence) if evidence.claim.version == 1 else _timed(evidence)
    return records[gate].verdict.message


def _timed(evidence: Evidence) -> str:
    timing = evidence.records["timing"].derived
    return (
        f"{evidence.sessions} sessions x {rounds_of(evidence.claim)} rounds, "
        f"{timing['kind']}; "
        f"{timing['baseline_median_us']:.3f} us -> "
        f"{timing['candidate_median_us']:.3f} us; speedup "
        f"{timing['speedup']['estimate']:.4g} [{timing['speedup']['lower']:.4g}, "
        f"{timing['speedup']['upper']:.4g}] over {timing['unit']}, seen from "
        f"{1 + timing['smallest_effect_ratio']:.5g}"
    )
