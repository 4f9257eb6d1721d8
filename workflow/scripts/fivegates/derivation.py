"""What each gate derives from its evidence, by the name of its record.

Gates call it to write their records, the verifier to check them: there is one
derivation of every derived value and every verdict, and this module says which.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fivegates import reference, roofline, sanitizer, timing
from fivegates.arm import ROLES
from fivegates.backend import Backend
from fivegates.claim import Claim
from fivegates.constructs import unsupported
from fivegates.errors import ArtifactError
from fivegates.receipt import session_name
from fivegates.record import Artifact, Reason, Record, Verdict, denial
from fivegates.sanitizer import TOOLS

MEMCHECK = "memcheck"
Derived = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What surrounds a record: `raw` gives a record's artifact as text by file name."""

    claim: Claim
    backend: Backend
    records: Mapping[str, Record]
    sources: Mapping[str, str]
    raw: Callable[[Record, str], str]


def predecessors(name: str, sessions: int) -> tuple[str, ...]:
    """Records that must have passed before the one of this name may run."""
    match name.split("/"):
        case [role, "reference"]:
            return (f"{role}/build",)
        case [role, "sanitizer", tool]:
            first = () if tool == MEMCHECK else (f"{role}/sanitizer/{MEMCHECK}",)
            return (f"{role}/build", f"{role}/reference", f"control/{tool}", *first)
        case ["timing", _]:
            return (
                *(f"{role}/build" for role in ROLES),
                *(f"{role}/reference" for role in ROLES),
                *(f"{role}/sanitizer/{tool}" for role in ROLES for tool in TOOLS),
            )
        case ["timing"]:
            return tuple(f"timing/{session_name(n)}" for n in range(1, sessions + 1))
        case ["roofline"]:
            return ("timing",)
    return ()


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
    if backend.kind == "host" and needs_device:
        return Verdict(
            status="not-run",
            reason=Reason.NO_DEVICE,
            message="needs an NVIDIA device",
        )
    return denial(inputs, after)


def derive(name: str, record: Record, context: Context) -> tuple[Derived, Verdict]:
    """Derived values and verdict of a record that ran, from its measured ones."""
    if record.result is None:
        raise ValueError(f"{name} did not run")
    measured, declared = record.result["measured"], record.result["declared"]
    _require_same_binary(name, measured, context)
    match name.split("/"):
        case [role, "build"]:
            return derive_build(measured, context.sources[role], context.backend)
        case [_, "reference"]:
            verdict = reference.judge(measured, context.claim.tolerance)
            return reference.derive(measured), verdict
        case ["control", tool]:
            runs = measured["runs"]
            found = sanitizer.derive(
                context.backend.kind, tool, runs, _logs(record, context)
            )
            return {"runs": found}, sanitizer.decide_control(runs, found)
        case [_, "sanitizer", tool]:
            runs = measured["runs"]
            found = sanitizer.derive(
                context.backend.kind, tool, runs, _logs(record, context)
            )
            return {"runs": found}, sanitizer.decide(runs, found)
        case ["timing", session]:
            return _derive_session(session, record, context)
        case ["timing"]:
            return _derive_timing(context)
        case ["roofline"]:
            return _derive_roofline(declared, measured, context)
    raise ValueError(f"no gate writes {name}")


def _require_same_binary(
    name: str, measured: Mapping[str, Any], context: Context
) -> None:
    """What was checked and timed is what was built."""
    used = dict(measured.get("binaries", {}))
    if digest := measured.get("binary_sha256"):
        used[name.partition("/")[0]] = digest
    for role, digest in used.items():
        built = [item.sha256 for item in context.records[f"{role}/build"].artifacts]
        if digest not in built:
            raise ArtifactError(
                f"{name}: ran binary {digest} as {role}, expected one of {built}"
            )


def derive_build(
    measured: Mapping[str, Any], source: str, backend: Backend
) -> tuple[Derived, Verdict]:
    """A build passes unless the source needs what the host backend lacks."""
    lacking = unsupported(source) if backend.kind == "host" else None
    if lacking is None:
        return {"unsupported": None}, Verdict.passed(
            f"compiled by {measured['compiler']}"
        )
    return {"unsupported": lacking}, Verdict(
        status="not-run",
        reason=Reason.UNSUPPORTED_CONSTRUCT,
        message=f"the host backend cannot run {lacking}",
    )


def _logs(record: Record, context: Context) -> dict[str, str]:
    names = [item.name.rpartition("/")[2] for item in record.artifacts]
    return {
        name: context.raw(record, name)
        for name in names
        if name.endswith((".txt", ".xml"))
    }


def _derive_session(
    session: str, record: Record, context: Context
) -> tuple[Derived, Verdict]:
    measured = (record.result or {})["measured"]
    if measured["facts"] is None:
        return {"state": None}, timing.judge_session(measured, None)
    _samples(session, record, context)
    state = timing.derive_state(
        context.raw(record, "state.csv"), f"{session}/state.csv"
    )
    return {"state": state}, timing.judge_session(measured, state)


def _samples(
    session: str, record: Record, context: Context
) -> tuple[timing.Sample, ...]:
    policy = context.claim.policy.timing
    facts = (record.result or {})["measured"]["facts"]
    return timing.parse_samples(
        context.raw(record, "samples.csv"),
        timing.plan(policy.rounds, int(session.removeprefix("s"))),
        policy.samples,
        facts["launches_per_graph"],
        f"{session}/samples.csv",
    )


def _derive_timing(context: Context) -> tuple[Derived, Verdict]:
    claim = context.claim
    sessions = [
        timing.derive_session(
            _samples(session, context.records[f"timing/{session}"], context),
            claim.policy.timing,
            claim.margin,
        )
        for session in map(session_name, range(1, claim.policy.timing.sessions + 1))
    ]
    derived = timing.derive(sessions)
    return derived, timing.judge(derived, claim.margin)


def _derive_roofline(
    declared: Mapping[str, Any], measured: Mapping[str, Any], context: Context
) -> tuple[Derived, Verdict]:
    times = (context.records["timing"].result or {})["derived"]
    probes = measured["probes"]
    device = context.backend.device
    if device is None:
        raise ValueError("roofline without a device")
    derived = roofline.derive(
        declared=declared,
        probes=probes,
        timing=times,
        nominal_gb_s=device.nominal_gb_s,
    )
    verdict = roofline.judge(
        claim=context.claim, probes=probes, timing=times, derived=derived
    )
    return derived, verdict
