"""What each gate derives from its evidence, by the name of its record.

Gates call it to write their records, the verifier to check them: there is one
derivation of every derived value and every verdict, and this module says which.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fivegates import (
    checking,
    fitness,
    preflight,
    reference,
    roofline,
    sanitizer,
    session,
    state,
    timing,
    v1,
)
from fivegates.arm import ROLES
from fivegates.backend import Backend, Device
from fivegates.claim import Claim
from fivegates.constructs import unsupported
from fivegates.errors import ArtifactError
from fivegates.evidence import session_name, session_records
from fivegates.plan import (
    PARTS,
    Round,
    Sample,
    document,
    expected_blocks,
    is_batched,
    launches_of,
    parse_blocks,
    parse_samples,
    plan,
    poisoned_samples,
)
from fivegates.record import Artifact, Reason, Record, Verdict, denial
from fivegates.rounds import Timings
from fivegates.trial import values_seed
from fivegates.warmup import TraceRow, launches_per_graph, parse_trace

Derived = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What surrounds a record: `raw` gives a record's artifact as text by file name."""

    claim: Claim
    backend: Backend
    records: Mapping[str, Record]
    sources: Mapping[str, str]
    raw: Callable[[Record, str], str]


def barred(
    name: str,
    backend: Backend,
    inputs: Iterable[Artifact],
    after: Mapping[str, Record],
) -> Verdict | None:
    """Why the gate of this name may not run, or None."""
    needs_device = name.startswith(("timing", "roofline"))
    refusal = denial(inputs, after)
    refused = refusal is not None and refusal.reason == Reason.PREDECESSOR_FAILED
    if backend.kind == "host" and needs_device and not refused:
        return Verdict.not_run(Reason.NO_DEVICE, "needs an NVIDIA device")
    return refusal


def derive(name: str, record: Record, context: Context) -> tuple[Derived, Verdict]:
    """Derived values and verdict of a record that ran, from its measured ones."""
    _require_same_binary(name, record, context)
    match name.split("/"):
        case [role, "build"]:
            return _derive_build(role, record, context)
        case [role, "reference"]:
            return _derive_reference(role, record, context)
        case ["control", tool] | [_, "sanitizer", tool]:
            if context.backend.kind == "host":
                return _derive_checked(name, tool, record, context)
            return _derive_sanitizer(tool, record, context)
        case ["timing", session]:
            return _derive_session(session, record, context)
        case ["timing"]:
            return _derive_timing(context)
        case ["roofline"]:
            return _derive_roofline(record, context)
    raise ValueError(f"no gate writes {name}")


def _require_same_binary(name: str, record: Record, context: Context) -> None:
    """What was checked and timed is what was built."""
    host, measured = context.backend.kind == "host", record.result["measured"]  # type: ignore[index]
    match name.split("/"):
        case [role, "reference"]:
            used = {(role, "values.so" if host else "kernel.cubin"): "binary_sha256"}
            used |= {(role, "contracted.so"): "contracted_sha256"} if host else {}
        case [role, "sanitizer", tool]:
            used = {(role, "checked.so" if host else "kernel.cubin"): "binary_sha256"}
            if host and tool == "memcheck":
                used |= {(role, "address.so"): "address_sha256"}
        case ["timing", _]:
            measured = measured["binaries"]
            used = {(role, "kernel.cubin"): role for role in ROLES}
        case _:
            return
    for (role, file), field in used.items():
        artifacts = context.records[f"{role}/build"].artifacts
        built = {item.name.rpartition("/")[2]: item.sha256 for item in artifacts}
        if measured[field] != built.get(file):
            raise ArtifactError(
                f"{name}: ran binary {measured[field]} as {role}, "
                f"expected {built.get(file)}"
            )


def _require_same_device(name: str, gpu_uuid: str, context: Context) -> Device:
    """What was measured was measured on the device that the receipt names."""
    device = context.backend.device
    if device is None or device.gpu_uuid != gpu_uuid:
        expected = "no device" if device is None else device.gpu_uuid
        raise ArtifactError(f"{name}: measured on {gpu_uuid}, expected {expected}")
    return device


def _derive_build(
    role: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    """A build passes unless the source needs what the host backend lacks."""
    arm, measured = context.claim.arms[role], record.measured  # type: ignore[index]
    host = context.backend.kind == "host"
    if not host and set(arm.options) - set(measured["flags"]):
        raise ArtifactError(f"{role}/build: built without {', '.join(arm.options)}")
    if not host:
        return {"unsupported": None}, Verdict.passed(
            f"compiled by {measured['compiler']}"
        )
    lacking = unsupported(context.sources[role]) or measured["host"]["refused"]
    if lacking is None:
        return {"unsupported": None}, preflight.judge_build(measured)
    return {"unsupported": lacking}, Verdict.not_run(
        Reason.UNSUPPORTED_CONSTRUCT,
        f"{arm.source}: {lacking}, expected what the host can run; run the claim where "
        "an NVIDIA device is",
    )


def _derive_reference(
    role: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    measured, claim = record.measured, context.claim
    host = context.backend.kind == "host"
    launches = [claim.policy.reference.launches] * len(measured["cases"])
    if host:
        launches = preflight.sweep(reference.keys(measured))
    if measured["timed_out"] is None:
        reference.require_complete(measured, claim, launches)
    verdict = reference.judge(measured, claim)
    derived = reference.derive(measured)
    if not host:
        return derived, verdict
    found = preflight.derive(measured, context.sources[role])
    if verdict.status == "pass":
        verdict = preflight.judge(found, verdict.message)
    return {**derived, "host": found}, verdict


def _derive_sanitizer(
    tool: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    """The runs of compute-sanitizer, and what their logs say."""
    sanitizer.require_runs(record.gate, tool, record.measured)
    runs = record.measured["runs"]
    found = sanitizer.derive(tool, runs, _logs(record, context))
    decide = sanitizer.decide_control if record.gate == "control" else sanitizer.decide
    return {"runs": found}, decide(runs, found)


def _derive_checked(
    name: str, tool: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    """The runs of the host's checker, and what their logs say."""
    runs, logs = record.measured["runs"], _logs(record, context)
    second = tool == "memcheck" and record.measured["address_sha256"] is not None
    checking.require_runs(name, runs, second=second)
    control = record.gate == "control"
    role = name.partition("/")[0]
    entry = f"control_{tool}" if control else context.claim.arms[role].entry  # type: ignore[index]
    found = checking.derive(tool, runs, logs, entry)
    if control:
        return {"runs": found}, checking.judge_control(tool, runs, found)
    derived: dict[str, Any] = {"runs": found}
    if tool == "memcheck":
        derived["census"] = checking.derive_census(logs[checking.CENSUS_LOG])
    verdict = checking.judge(runs, found)
    if tool == "racecheck":
        verdict = checking.with_proof(verdict, record.measured["static_proof"])
    return derived, verdict


def _logs(record: Record, context: Context) -> dict[str, str]:
    names = [item.name.rpartition("/")[2] for item in record.artifacts]
    return {name: context.raw(record, name) for name in names}


def _derive_session(
    name: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    claim, facts = context.claim, record.measured["facts"]
    if claim.version == 1:
        return _derive_first_session(name, record, context)
    where = f"timing/{name}"
    if facts is None:
        return {"statistics": None}, fitness.judge(record.measured, None, claim)
    device = _require_same_device(where, facts["gpu_uuid"], context)
    _require_same_device(where, facts["conditions"]["gpu_uuid"], context)
    number = int(name.removeprefix("s"))
    _require_plan(where, number, record, context)
    rounds = plan(claim, record.claim, number)
    trace = parse_trace(context.raw(record, "warmup.csv"), f"{where}/warmup.csv")
    session.require_plan_kept(where, facts, claim, device, rounds, trace)
    seed = values_seed(record.claim, record.measured["binaries"], number)
    if facts["values_seed"] != seed:
        raise ArtifactError(
            f"{where}: values_seed is {facts['values_seed']}, expected {seed}"
        )
    timings = _timings(where, record, context, rounds, trace)
    session.require_blocks_hold_samples(where, timings, record.run.duration_s)
    span_s = (timings.blocks[0].begin_s, timings.blocks[-1].end_s)
    text = context.raw(record, "state.csv")
    seen = state.derive(text, facts["conditions"], span_s, f"{where}/state.csv")
    derived = session.derive(timings, trace, seen, claim)
    commands = state.lock_commands(
        facts["gpu_uuid"], facts["conditions"], seen["clock_policy"]
    )
    return {"statistics": derived, "clock_commands": commands}, fitness.judge(
        record.measured, derived, claim
    )


def _require_plan(where: str, number: int, record: Record, context: Context) -> None:
    """The plan is that of the claim, and the session read it."""
    expected = json.loads(json.dumps(document(context.claim, record.claim, number)))
    if json.loads(context.raw(record, "plan.json")) != expected:
        raise ArtifactError(f"{where}/plan.json: not the plan of its claim")
    kept = {item.name.rpartition("/")[2]: item.sha256 for item in record.artifacts}
    if record.measured["facts"]["plan_sha256"] != kept["plan.json"]:
        raise ArtifactError(f"{where}: measured by another plan than plan.json")


def _timings(
    where: str,
    record: Record,
    context: Context,
    rounds: Sequence[Round],
    trace: Sequence[TraceRow],
) -> Timings:
    """Raw samples and blocks of a session, each in its planned place."""
    claim, slots = context.claim, record.measured["facts"]["slots"]
    kind = claim.workload.kind
    batch = 1
    if is_batched(kind):
        batch = launches_per_graph(trace, slots, claim.policy.timing)
    if record.measured["facts"]["launches_per_graph"] != batch:
        raise ArtifactError(
            f"{where}: launches_per_graph is "
            f"{record.measured['facts']['launches_per_graph']}, expected {batch}"
        )
    parts = PARTS if kind.boundary == "cold-start" else ()
    blocks = list(expected_blocks(rounds, parts))
    rows = [
        (name, number, block, role, sample, launches_of(name, batch))
        for name, number, block, role, samples in blocks
        for sample in range(samples)
    ]
    return Timings(
        kind=kind,
        samples=parse_samples(
            context.raw(record, "samples.csv"), rows, f"{where}/samples.csv"
        ),
        blocks=parse_blocks(
            context.raw(record, "blocks.csv"),
            [block[:4] for block in blocks],
            f"{where}/blocks.csv",
        ),
        poisoned={} if parts else poisoned_samples(rounds),
    )


def _derive_first_session(
    name: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    facts = record.measured["facts"]
    if facts is None:
        return {"state": None}, v1.judge_session(record.measured, None)
    device = _require_same_device(name, facts["gpu_uuid"], context)
    _first_samples(name, record, context)
    v1.require_plan_kept(name, facts, context.claim, device)
    found = v1.derive_state(context.raw(record, "state.csv"), f"{name}/state.csv")
    return {"state": found}, v1.judge_session(record.measured, found)


def _first_samples(name: str, record: Record, context: Context) -> tuple[Sample, ...]:
    return v1.samples(
        context.raw(record, "samples.csv"),
        context.claim.policy.timing,
        int(name.removeprefix("s")),
        record.measured["facts"]["launches_per_graph"],
        f"{name}/samples.csv",
    )


def _derive_timing(context: Context) -> tuple[Derived, Verdict]:
    claim, policy = context.claim, context.claim.policy.timing
    _require_distinct_samples(context)
    if claim.version == 1:
        first = [
            v1.derive_session(
                _first_samples(name, context.records[f"timing/{name}"], context),
                policy,
                claim.margin,
            )
            for name in map(session_name, range(1, policy.sessions + 1))
        ]
        found = v1.derive_timing(first)
        return found, v1.judge_timing(found, claim.margin)
    sessions = [
        context.records[name].derived["statistics"]
        for name in session_records(context.records)
    ]
    derived = timing.derive(
        sessions,
        planned=policy.sessions,
        margin=claim.margin,
        confidence=policy.confidence,
    )
    return derived, timing.judge(derived, claim.margin)


def _require_distinct_samples(context: Context) -> None:
    """Sessions are processes: no two of them write the same samples."""
    digests = [
        item.sha256
        for name, record in context.records.items()
        for item in record.artifacts
        if name.startswith("timing/") and item.name.endswith("/samples.csv")
    ]
    if len(set(digests)) != len(digests):
        raise ArtifactError("timing: two sessions have the same samples.csv")


def _derive_roofline(record: Record, context: Context) -> tuple[Derived, Verdict]:
    device = _require_same_device("roofline", record.measured["gpu_uuid"], context)
    measured = {
        "probes": record.measured["probes"],
        "timing": context.records["timing"].derived,
    }
    derived = roofline.derive(
        declared=record.declared, nominal_gb_s=device.nominal_gb_s, **measured
    )
    return derived, roofline.judge(
        claim=context.claim,
        device=device,
        declared=record.declared,
        derived=derived,
        **measured,
    )
