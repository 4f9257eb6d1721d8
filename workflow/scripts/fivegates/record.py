"""What a gate writes: one record, and the reason codes a verdict may carry.

A record is evidence, not permission: `denial` says why a later gate may not run, and
anything missing, stale or short of a pass is such a reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

RECORD_SCHEMA = "fivegates:gate_record/v1"

Gate = Literal[
    "build", "reference", "control", "sanitizer", "session", "timing", "roofline"
]
Status = Literal["pass", "fail", "inconclusive", "not-run"]


class Reason(StrEnum):
    """Why a verdict is what it is; docs/gates.md gives cause and next step of each."""

    PASSED = "passed"
    PREDECESSOR_FAILED = "predecessor-failed"
    PREDECESSOR_STALE = "predecessor-stale"
    NO_DEVICE = "no-device"
    UNSUPPORTED_CONSTRUCT = "unsupported-construct"
    TIMEOUT = "timeout"
    PROCESS_FAILED = "process-failed"
    CONTRACT_TOO_WEAK = "contract-too-weak"
    LAUNCH_ERROR = "launch-error"
    UNWRITTEN_OUTPUT = "unwritten-output"
    NONFINITE_OUTPUT = "nonfinite-output"
    TOLERANCE_EXCEEDED = "tolerance-exceeded"
    INPUT_CHANGED = "input-changed"
    WRITTEN_BESIDE = "written-beside"
    NONDETERMINISTIC_OUTPUT = "nondeterministic-output"
    MEMORY_ERROR = "memory-error"
    RACE = "race"
    UNINITIALIZED_READ = "uninitialized-read"
    BARRIER_ERROR = "barrier-error"
    UNDEFINED_BEHAVIOR = "undefined-behavior"
    HAZARD_WARNING = "hazard-warning"
    API_ERROR = "api-error"
    EVIDENCE_DISAGREES = "evidence-disagrees"
    LIMIT_REACHED = "limit-reached"
    MARGINAL = "marginal"
    CONTROL_NOT_CAUGHT = "control-not-caught"
    TIMED_OUTPUT_WRONG = "timed-output-wrong"
    HELD_QUEUE_EXPIRED = "held-queue-expired"
    THROTTLED = "throttled"
    COMPETING_WORK = "competing-work"
    NULL_DIFFERS = "null-differs"
    SESSIONS_DISAGREE = "sessions-disagree"
    REPEATED_VALUES = "repeated-values"
    TIMER_UNRELIABLE = "timer-unreliable"
    NOT_STATIONARY = "not-stationary"
    ORDER_EFFECT = "order-effect"
    UNEQUAL_STATE = "unequal-state"
    STATE_UNKNOWN = "state-unknown"
    FLOOR_DOMINATED = "floor-dominated"
    INTERVAL_TOO_WIDE = "interval-too-wide"
    ABOVE_ROOF = "above-roof"
    BELOW_FLOOR = "below-floor"
    PROBE_UNRELIABLE = "probe-unreliable"


TOOL_REASONS: Mapping[str, Reason] = {
    "memcheck": Reason.MEMORY_ERROR,
    "racecheck": Reason.RACE,
    "initcheck": Reason.UNINITIALIZED_READ,
    "synccheck": Reason.BARRIER_ERROR,
    "undefined": Reason.UNDEFINED_BEHAVIOR,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """A named file by digest; the name is a path under the results folder."""

    name: str
    sha256: str
    size_bytes: int
    media_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A gate's answer."""

    status: Status
    reason: Reason
    message: str

    @classmethod
    def passed(cls, message: str) -> "Verdict":
        """The one verdict that lets the next gate run."""
        return cls(status="pass", reason=Reason.PASSED, message=message)

    @classmethod
    def fail(cls, reason: Reason, message: str) -> "Verdict":
        """The gate says no."""
        return cls(status="fail", reason=reason, message=message)

    @classmethod
    def inconclusive(cls, reason: Reason, message: str) -> "Verdict":
        """It ran and cannot decide."""
        return cls(status="inconclusive", reason=reason, message=message)

    @classmethod
    def not_run(cls, reason: Reason, message: str) -> "Verdict":
        """It did not look, so it has seen nothing."""
        return cls(status="not-run", reason=reason, message=message)

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> "Verdict":
        """Read the schema-checked `verdict` object."""
        return cls(
            status=data["status"],  # type: ignore[arg-type]
            reason=Reason(data["reason"]),
            message=data["message"],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """How the record came about. Times are RFC 3339 with Z."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    started_at: str
    finished_at: str

    @property
    def duration_s(self) -> float:
        """Seconds from start to finish."""
        start, finish = map(datetime.fromisoformat, (self.started_at, self.finished_at))
        return (finish - start).total_seconds()


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One gate's record.

    `claim` and `subject` are digests: of the frozen claim, and of the source manifest
    of each arm that the record speaks of. `result` holds the objects `declared`,
    `measured` and `derived`, or is None where nothing ran.
    """

    gate: Gate
    claim: str
    subject: Mapping[str, str]
    verdict: Verdict
    inputs: tuple[Artifact, ...]
    artifacts: tuple[Artifact, ...]
    run: Run
    result: Mapping[str, Any] | None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Record":
        """Read a schema-checked gate record."""
        run = data["run"]
        return cls(
            gate=data["gate"],
            claim=data["claim"],
            subject=data["subject"],
            verdict=Verdict.from_dict(data["verdict"]),
            inputs=tuple(Artifact(**item) for item in data["inputs"]),
            artifacts=tuple(Artifact(**item) for item in data["artifacts"]),
            run=Run(**{**run, "command": tuple(run["command"])}),
            result=data["result"],
        )

    @property
    def declared(self) -> Mapping[str, Any]:
        """What the contract declares, of a gate that ran."""
        return self._part("declared")

    @property
    def measured(self) -> Mapping[str, Any]:
        """What was measured, by a gate that ran."""
        return self._part("measured")

    @property
    def derived(self) -> Mapping[str, Any]:
        """What follows from it, for a gate that ran."""
        return self._part("derived")

    def _part(self, name: str) -> Mapping[str, Any]:
        if self.result is None:
            raise ValueError(f"the {self.gate} gate did not run")
        part: Mapping[str, Any] = self.result[name]
        return part

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {"schema": RECORD_SCHEMA, **asdict(self)}


def denial(inputs: Iterable[Artifact], after: Mapping[str, Record]) -> Verdict | None:
    """Why a gate with these inputs may not run, or None when every predecessor passed.

    `after` holds the predecessors by name. One is stale when it was made from another
    version of an input that both list.
    """
    current = {artifact.name: artifact.sha256 for artifact in inputs}
    for name, record in after.items():
        if record.verdict.status != "pass":
            return Verdict.not_run(
                _inherited(record.verdict), f"{name} is {record.verdict.status}"
            )
        for used in record.inputs:
            if current.get(used.name, used.sha256) != used.sha256:
                return Verdict.not_run(
                    Reason.PREDECESSOR_STALE,
                    f"{name} was made from another {used.name}",
                )
    return None


def gate_of(name: str) -> Gate:
    """The gate that writes the record of this name: `candidate/sanitizer/memcheck`."""
    match name.split("/"):
        case ["control", _]:
            return "control"
        case [_, "sanitizer", _]:
            return "sanitizer"
        case ["timing", _]:
            return "session"
        case ["timing"]:
            return "timing"
        case ["roofline"]:
            return "roofline"
        case [_, "build"]:
            return "build"
        case [_, "reference"]:
            return "reference"
    raise ValueError(f"no gate writes {name}")


def _inherited(verdict: Verdict) -> Reason:
    """A lack of means stays what it is down the line; a refusal does not."""
    lacking = (
        Reason.NO_DEVICE,
        Reason.UNSUPPORTED_CONSTRUCT,
        Reason.CONTROL_NOT_CAUGHT,
    )
    if verdict.status == "not-run" and verdict.reason in lacking:
        return verdict.reason
    return Reason.PREDECESSOR_FAILED
