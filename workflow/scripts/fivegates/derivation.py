"""What each gate derives from its evidence, by the name of its record.

Gates call it to write their records, the verifier to check them: there is one
derivation of every derived value and every verdict, and this module says which.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fivegates import reference, roofline, sanitizer, session, timing
from fivegates.arm import ROLES
from fivegates.backend import Backend, Device, binary_name
from fivegates.claim import Claim
from fivegates.constructs import unsupported
from fivegates.errors import ArtifactError
from fivegates.evidence import session_name
from fivegates.record import Artifact, Reason, Record, Verdict, denial

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
    gate, _, tool = name.rpartition("/")
    needs_device = name.startswith(("timing", "roofline")) or (
        gate.endswith(("control", "sanitizer"))
        and not sanitizer.controls(backend.kind, tool)
    )
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
        case [_, "reference"]:
            return _derive_reference(record, context.claim)
        case ["control", tool]:
            runs, found = _runs(tool, record, context)
            return {"runs": found}, sanitizer.decide_control(runs, found)
        case [_, "sanitizer", tool]:
            runs, found = _runs(tool, record, context)
            return {"runs": found}, sanitizer.decide(runs, found)
        case ["timing", session]:
            return _derive_session(session, record, context)
        case ["timing"]:
            return _derive_timing(context)
        case ["roofline"]:
            return _derive_roofline(record, context)
    raise ValueError(f"no gate writes {name}")


def _require_same_binary(name: str, record: Record, context: Context) -> None:
    """What was checked and timed is what was built."""
    match name.split("/"):
        case [role, "reference"] | [role, "sanitizer", _]:
            used = {role: record.measured["binary_sha256"]}
        case ["timing", _]:
            used = {role: record.measured["binaries"][role] for role in ROLES}
        case _:
            return
    file = binary_name(context.backend.kind, sanitized="/sanitizer/" in name)
    for role, digest in used.items():
        build = context.records[f"{role}/build"]
        (built,) = (item for item in build.artifacts if item.name.endswith(f"/{file}"))
        if digest != built.sha256:
            raise ArtifactError(
                f"{name}: ran binary {digest} as {role}, expected {built.sha256}"
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
    options = context.claim.arms[role].options  # type: ignore[index]
    host = context.backend.kind == "host"
    if not host and set(options) - set(record.measured["flags"]):
        raise ArtifactError(f"{role}/build: built without {', '.join(options)}")
    lacking = unsupported(context.sources[role]) if host else None
    if lacking is None:
        compiler = record.measured["compiler"]
        return {"unsupported": None}, Verdict.passed(f"compiled by {compiler}")
    return {"unsupported": lacking}, Verdict.not_run(
        Reason.UNSUPPORTED_CONSTRUCT,
        f"{context.claim.arms[role].source}: {lacking} cannot run on the host; "  # type: ignore[index]
        "run the claim where an NVIDIA device is",
    )


def _derive_reference(record: Record, claim: Claim) -> tuple[Derived, Verdict]:
    if record.measured["timed_out"] is None:
        reference.require_complete(record.measured, claim)
    verdict = reference.judge(record.measured, claim)
    return reference.derive(record.measured), verdict


def _runs(
    tool: str, record: Record, context: Context
) -> tuple[Sequence[Mapping[str, Any]], list[dict[str, Any]]]:
    """The runs of a sanitizer's record, and what their logs say."""
    sanitizer.require_runs(record.gate, context.backend.kind, tool, record.measured)
    names = [item.name.rpartition("/")[2] for item in record.artifacts]
    logs = {name: context.raw(record, name) for name in names}
    runs = record.measured["runs"]
    return runs, sanitizer.derive(context.backend.kind, tool, runs, logs)


def _derive_session(
    name: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    facts = record.measured["facts"]
    if facts is None:
        return {"state": None}, session.judge(record.measured, None)
    device = _require_same_device(name, facts["gpu_uuid"], context)
    _samples(name, record, context)
    session.require_plan_kept(name, facts, context.claim, device)
    state = session.derive_state(context.raw(record, "state.csv"), f"{name}/state.csv")
    return {"state": state}, session.judge(record.measured, state)


def _samples(name: str, record: Record, context: Context) -> tuple[session.Sample, ...]:
    policy = context.claim.policy.timing
    return session.parse_samples(
        context.raw(record, "samples.csv"),
        session.plan(policy.rounds, int(name.removeprefix("s"))),
        policy.samples,
        record.measured["facts"]["launches_per_graph"],
        f"{name}/samples.csv",
    )


def _derive_timing(context: Context) -> tuple[Derived, Verdict]:
    claim = context.claim
    names = map(session_name, range(1, claim.policy.timing.sessions + 1))
    sessions = [
        timing.derive_session(
            _samples(name, context.records[f"timing/{name}"], context),
            claim.policy.timing,
            claim.margin,
        )
        for name in names
    ]
    _require_distinct_samples(context)
    derived = timing.derive(sessions)
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
    return derived, roofline.judge(claim=context.claim, derived=derived, **measured)
