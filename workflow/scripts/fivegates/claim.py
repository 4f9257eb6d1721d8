"""The claim: a sentence that can be proved wrong, and all that is frozen before it is.

Reads the schema-checked document; states what the schema cannot (slots agree with the
cache regime, the launch resolves, the working set fits). Opens no file, asks no device.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

from fivegates.arm import ROLES, Arm, Launch, Role, resolve
from fivegates.contract import Case, Operation, Order, sizes_text
from fivegates.errors import ClaimError, ContractError
from fivegates.portfolio import PART

CLAIM_SCHEMA = "fivegates:frozen_claim/v2"

# device: work queued behind a held stream; launch: from the host's submission of one
# launch to its completion; graph: replay of a captured graph of one launch; cold-start:
# context, load and first launch in a fresh process; end-to-end: transfers included.
Boundary = Literal["device", "launch", "graph", "cold-start", "end-to-end"]
# swept: a read of a large buffer before each launch, outside its interval.
CacheRegime = Literal["same-buffer", "buffer-rotated", "swept"]
ROTATION_SLOTS_MINIMUM = 2
# A graph holds whole rotations, and all that is queued must fit the launch queue.
ROTATION_SLOTS_MAXIMUM = 256
# Sets of values that the pointers take turns with.
VALUE_SETS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """`|y - r| <= atol + rtol*|r|`, per element."""

    atol: float
    rtol: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What an interval holds and what the cache held before: no ratio across two."""

    boundary: Boundary
    cache_regime: CacheRegime

    def __str__(self) -> str:
        """Spelled for messages: `device/buffer-rotated`."""
        return f"{self.boundary}/{self.cache_regime}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """One timed point. `rotation_slots` is None where the device's L2 decides it."""

    sizes: Mapping[str, int]
    dtype: str
    boundary: Boundary
    cache_regime: CacheRegime
    rotation_slots: int | None

    @property
    def kind(self) -> Kind:
        """Boundary and cache regime."""
        return Kind(boundary=self.boundary, cache_regime=self.cache_regime)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferencePolicy:
    """Gate 1: launches of each case, and seconds before a process is ended."""

    launches: int
    timeout_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SanitizerPolicy:
    """Gate 2: bytes of padding behind each allocation, and seconds for each tool."""

    padding_bytes: int
    timeout_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TimingPolicy:
    """Gate 3: the plan of every session, fixed before the first launch.

    `every` says for comparisons in which rounds they are made: every so many, each
    where it does not name one. Claims frozen by the first version have no such and 0
    for single_samples, warmup_tolerance and warmup_cap_s.
    """

    sessions: int
    rounds: int
    every: Mapping[str, int]
    samples: int
    single_samples: int
    graph_us: float
    warmup_launches: int
    warmup_s: float
    warmup_cap_s: float
    warmup_tolerance: float
    confidence: float
    confirm_after_s: float
    timeout_s: float


FIRST_VERSION_TIMING = {
    "every": {},
    "single_samples": 0,
    "warmup_cap_s": 0.0,
    "warmup_tolerance": 0.0,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What config/config.yaml declares for every claim."""

    reference: ReferencePolicy
    sanitizer: SanitizerPolicy
    timing: TimingPolicy

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Policy":
        """Read the schema-checked `policy` object."""
        return cls(
            reference=ReferencePolicy(**data["reference"]),
            sanitizer=SanitizerPolicy(**data["sanitizer"]),
            timing=TimingPolicy(**{**FIRST_VERSION_TIMING, **data["timing"]}),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A frozen claim, by version 1 or 2 of its schema.

    `portfolio` names all `workloads`, and the `sha256` of the whole, where this is the
    claim for one of several. `seed` is added to those of the contract's cases;
    `cases_sha256` is the digest of their plan, which claims of before do not have;
    `order` is the contract's.
    """

    version: int
    name: str
    sentence: str
    operation: str
    workload: Workload
    tolerance: Tolerance
    margin: float
    arms: Mapping[Role, Arm]
    policy: Policy
    portfolio: Mapping[str, Any] | None
    seed: int
    cases_sha256: str | None
    order: Order

    @property
    def file(self) -> str:
        """The YAML that it was frozen from, and in it the workload of a portfolio."""
        name, _, workload = self.name.partition(PART)
        return f"config/claims/{name}.yaml" + (workload and f": workloads.{workload}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Claim":
        """Read a schema-checked frozen claim; ClaimError where its fields disagree."""
        claim = data["claim"]
        workload = Workload(**{"rotation_slots": None, **claim["workload"]})
        _require_matching_slots(workload)
        return cls(
            version=int(data["schema"].rpartition("/v")[2]),
            name=data["name"],
            sentence=claim["claim"],
            operation=claim["operation"],
            workload=workload,
            tolerance=Tolerance(**claim["tolerance"]),
            margin=claim["margin"],
            arms={role: Arm.from_dict(role, claim[role]) for role in ROLES},
            policy=Policy.from_dict(data["policy"]),
            portfolio=data.get("portfolio"),
            seed=claim.get("seed", 0),
            cases_sha256=data.get("cases_sha256"),
            order=data.get("order", "fixed"),
        )


def _require_matching_slots(workload: Workload) -> None:
    slots, regime = workload.rotation_slots, workload.cache_regime
    if regime != "buffer-rotated" and slots not in (None, 1):
        raise ClaimError(
            f"workload.rotation_slots is {slots}, expected 1 or none for "
            f"cache_regime {regime!r}"
        )
    if workload.boundary == "cold-start" and regime != "same-buffer":
        raise ClaimError(
            f"workload.cache_regime is {regime!r}, expected 'same-buffer' for boundary "
            "'cold-start': its one launch finds what a fresh process finds"
        )
    if workload.cache_regime == "buffer-rotated" and slots == 1:
        raise ClaimError(
            "workload.rotation_slots is 1, expected at least 2 or none for "
            "cache_regime 'buffer-rotated'"
        )


def cases(claim: Claim, operation: Operation) -> tuple[Case, ...]:
    """Every case of gate 1: the contract's own, with the timed sizes among them."""
    return tuple(
        replace(case, seed=case.seed + claim.seed)
        for case in operation.cases(claim.workload.sizes)
    )


def launch(
    claim: Claim, operation: Operation, role: Role, sizes: Mapping[str, int]
) -> Launch:
    """Resolve one arm's launch for these sizes."""
    return resolve(
        claim.arms[role],
        sizes=sizes,
        operands={
            name: operation.itemsize(name) * operation.layout(name, sizes).start
            for name in operation.operands
        },
        scalars=operation.scalars,
    )


def require_bound(claim: Claim, operation: Operation) -> None:
    """ClaimError unless sizes, dtype and both launches fit the operation's contract."""
    sizes = claim.workload.sizes
    if set(sizes) != set(operation.sizes):
        raise ClaimError(
            f"workload.sizes has {', '.join(sorted(sizes)) or 'no size'}, "
            f"expected {', '.join(operation.sizes)}"
        )
    if claim.workload.dtype not in operation.dtypes:
        raise ClaimError(
            f"workload.dtype is {claim.workload.dtype!r}, "
            f"expected {' or '.join(operation.dtypes)}, DTYPES of {operation.file}"
        )
    _require_within_limits(claim, operation)
    _require_operands(claim, operation)
    chosen = cases(claim, operation)
    if not any(case.sizes == sizes for case in chosen):
        raise ContractError(
            f"{operation.file}: cases has none of {sizes_text(sizes)}, expected the "
            "timed sizes among them"
        )
    for role in ROLES:
        for case in chosen:
            launch(claim, operation, role, case.sizes)
        _require_timed_launch(claim, operation, role)


def _require_within_limits(claim: Claim, operation: Operation) -> None:
    if operation.limits is None:
        return
    limit = operation.limits[claim.workload.dtype]
    for field in ("atol", "rtol"):
        declared, most = getattr(claim.tolerance, field), getattr(limit, field)
        if declared > most:
            raise ClaimError(
                f"tolerance.{field} is {declared:g}, expected at most {most:g}, which "
                f"{operation.file} derives for {claim.workload.dtype}"
            )


def _require_operands(claim: Claim, operation: Operation) -> None:
    """ClaimError where the timed sizes lay an operand out badly, or leave it empty."""
    sizes = claim.workload.sizes
    said = f"workload.sizes is {sizes_text(sizes)}"
    for name in operation.operands:
        try:
            layout = operation.layout(name, sizes)
        except ClaimError as error:
            raise ClaimError(f"{said}: {error}") from None
        if not prod(layout.shape):
            raise ClaimError(f"{said}: {name} has no element, expected at least 1")


def _require_timed_launch(claim: Claim, operation: Operation, role: Role) -> None:
    timed = launch(claim, operation, role, claim.workload.sizes)
    if timed.blocks == 0:
        raise ClaimError(
            f"{role}.grid is {list(claim.arms[role].grid)!r}: 0 blocks at the timed "
            "sizes, expected at least 1"
        )
    passed = {
        argument.name for argument in timed.arguments if argument.kind == "buffer"
    }
    if missing := [name for name in operation.outputs if name not in passed]:
        raise ClaimError(
            f"{role}.arguments does not pass {', '.join(missing)}, "
            "expected every output of the operation"
        )


def slot_bytes(claim: Claim, operation: Operation) -> int:
    """Bytes of one slot: every operand at the timed sizes."""
    sizes = claim.workload.sizes
    return sum(operation.nbytes(name, sizes) for name in operation.operands)


def rotation_slots(claim: Claim, operation: Operation, l2_bytes: int) -> int:
    """Slots to rotate: a working set above twice the reported L2.

    A claim that names its own count keeps it.
    """
    if claim.workload.cache_regime != "buffer-rotated":
        return 1
    if claim.workload.rotation_slots is not None:
        return claim.workload.rotation_slots
    one = max(1, slot_bytes(claim, operation))
    return max(ROTATION_SLOTS_MINIMUM, -(-(2 * l2_bytes + one) // one))


def required_bytes(claim: Claim, operation: Operation, l2_bytes: int) -> int:
    """Device bytes that gate 3 holds at once.

    Every slot's operands; sets of values to redraw them from, with the outputs expected
    of each and their tolerances in float64; and what is swept.
    """
    slots = rotation_slots(claim, operation, l2_bytes)
    layouts = (operation.layout(n, claim.workload.sizes) for n in operation.outputs)
    expected = sum(16 * layout.extent for layout in layouts)
    one = slot_bytes(claim, operation)
    swept = 2 * l2_bytes if claim.workload.cache_regime == "swept" else 0
    return slots * one + VALUE_SETS * (one + expected) + swept


def require_capacity(
    claim: Claim, operation: Operation, *, l2_bytes: int, memory_bytes: int
) -> None:
    """ClaimError when the timed sizes are too large, or too small to be rotated."""
    slots = rotation_slots(claim, operation, l2_bytes)
    if slots > ROTATION_SLOTS_MAXIMUM:
        raise ClaimError(
            f"workload.cache_regime is 'buffer-rotated': {slots} slots exceed twice "
            f"the L2 of {l2_bytes} bytes, expected at most {ROTATION_SLOTS_MAXIMUM}. "
            "Rotate larger sizes or claim 'same-buffer'"
        )
    rotated = claim.workload.cache_regime == "buffer-rotated"
    working_set = slots * slot_bytes(claim, operation)
    if rotated and working_set <= 2 * l2_bytes:
        raise ClaimError(
            f"workload.rotation_slots is {slots}: a working set of {working_set} "
            f"bytes, expected more than {2 * l2_bytes}, twice the L2"
        )
    needed = required_bytes(claim, operation, l2_bytes)
    if needed > memory_bytes:
        sizes = ", ".join(f"{k}={v}" for k, v in sorted(claim.workload.sizes.items()))
        raise ClaimError(
            f"workload.sizes is {sizes}: needs {needed} bytes of memory, "
            f"expected at most {memory_bytes}"
        )
