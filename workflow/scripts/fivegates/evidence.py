"""What evidence a claim has: its records in order, and what each must wait for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fivegates.arm import ROLES, Role
from fivegates.backend import Backend, Kind
from fivegates.checking import CHECKS
from fivegates.claim import Claim
from fivegates.record import Artifact, Record
from fivegates.sanitizer import TOOLS

MEMCHECK = "memcheck"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that a receipt is made from.

    `records` are the gates in the order they decide, by name: `candidate/reference`.
    `artifacts` are every named input, record and raw file; `assembly` holds what only
    the machine that assembled the receipt can know: time, repository, commit;
    `calibration` what timing on the same device could tell apart, where it was tried.
    """

    claim: Claim
    backend: Backend
    sources: Mapping[Role, Mapping[str, Any]]
    records: Mapping[str, Record]
    record_sha256: Mapping[str, str]
    artifacts: tuple[Artifact, ...]
    assembly: Mapping[str, Any]
    calibration: Mapping[str, Any] | None

    @property
    def sessions(self) -> int:
        """Sessions of timing: those planned and those added."""
        return len(session_records(self.records))

    def session_fact(self, key: str) -> Any:
        """What the first session measured under this key, None where it did not run."""
        first = self.records[f"timing/{session_name(1)}"].result
        facts = None if first is None else first["measured"]["facts"]
        return None if facts is None else facts[key]

    def raw_samples(self) -> list[Artifact]:
        """Raw samples of every session, by name."""
        found = (i for i in self.artifacts if i.name.endswith("/samples.csv"))
        return sorted(found, key=lambda item: item.name)


def tools(kind: Kind) -> tuple[str, ...]:
    """The tools of gate 2: those of compute-sanitizer, or the host checker's."""
    return TOOLS if kind == "cuda" else CHECKS


def record_names(kind: Kind, sessions: int) -> tuple[str, ...]:
    """Every gate record of a claim, in the order in which they decide."""
    return (
        *(f"{role}/build" for role in ROLES),
        *(f"{role}/reference" for role in ROLES),
        *(f"control/{tool}" for tool in tools(kind)),
        *(f"{role}/sanitizer/{tool}" for role in ROLES for tool in tools(kind)),
        *(f"timing/{session_name(number)}" for number in range(1, sessions + 1)),
        "timing",
        "roofline",
    )


def session_name(number: int) -> str:
    """Name of a session: `s01`."""
    return f"s{number:02d}"


def session_records(names: Iterable[str]) -> list[str]:
    """The names among these that are sessions, in order."""
    return sorted(name for name in names if name.startswith("timing/s"))


def subjects(name: str) -> tuple[Role, ...]:
    """The arms that a record speaks of."""
    first = name.partition("/")[0]
    if first == "control":
        return ()
    return tuple(role for role in ROLES if role == first) or ROLES


def predecessors(name: str, kind: Kind, sessions: int) -> tuple[str, ...]:
    """Records that must have passed before the one of this name may run.

    On a device memcheck comes first: the others are no guide to a kernel that fails it.
    On the host one run answers for all.
    """
    match name.split("/"):
        case [role, "reference"]:
            return (f"{role}/build",)
        case [role, "sanitizer", tool]:
            alone = tool == MEMCHECK or kind == "host"
            first = () if alone else (f"{role}/sanitizer/{MEMCHECK}",)
            return (f"{role}/build", f"{role}/reference", f"control/{tool}", *first)
        case ["timing", _]:
            return (
                *(f"{role}/build" for role in ROLES),
                *(f"{role}/reference" for role in ROLES),
                *(f"{role}/sanitizer/{tool}" for role in ROLES for tool in tools(kind)),
            )
        case ["timing"]:
            return tuple(f"timing/{session_name(n)}" for n in range(1, sessions + 1))
        case ["roofline"]:
            return ("timing",)
    return ()
