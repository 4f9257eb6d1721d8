"""Sessions as a device with known laws would give them, by the plan of a claim.

What comes out are the raw files of a session and its facts, or a record of them: from
there on everything is the code under test.
"""

import csv
import io
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from fivegates.backend import Backend
from fivegates.claim import Claim
from fivegates.derivation import Context, derive
from fivegates.errors import ArtifactError, ClaimError
from fivegates.plan import (
    BLOCK_COLUMNS,
    PAIRED,
    PARTS,
    SAMPLE_COLUMNS,
    Step,
    document,
    expected_blocks,
    is_batched,
    launches_of,
    plan,
)
from fivegates.record import Record, Run, Verdict, gate_of
from fivegates.schema import check
from fivegates.state import STATE_COLUMNS
from fivegates.store import describe, sha256
from fivegates.trial import values_seed
from fivegates.warmup import TRACE_COLUMNS, launches_per_graph, parse_trace

GPU_UUID = "GPU-182dd796-462b-b296-a9bc-56e2cbd7d9bd"
QUIET = {"sample_sd": 1e-7, "round_sd": 1e-7}
# Comparisons in every round: the same simulations whatever the configuration says.
DENSE = {"floor": 8, "control": 8, "single": 2}
DIGEST = "c642f220856b98dd34d18dc9cdba88adf30753aec488ce74d5bdcf44179b0797"
DEVICE = {
    "compute_capability": "9.0",
    "cuda_driver_api": "13.0",
    "cuda_runtime": "13.2",
    "driver": "580.159.04",
    "free_bytes": 149_557_477_376,
    "gpu_name": "NVIDIA H200",
    "gpu_uuid": GPU_UUID,
    "l2_bytes": 62_914_560,
    "memory_bus_bits": 6016,
    "memory_bytes": 150_109_880_320,
    "memory_clock_mhz": 3201,
    "multiprocessors": 132,
    "power_limit_w": 700.0,
}
BACKEND = Backend.from_dict(
    {"backend": "cuda", "device": DEVICE, "platform": "Linux x86_64", "packages": {}}
)
SLOTS, SLOT_BYTES = 12, 12_000_768
BINARIES = {role: sha256(role.encode()) for role in ("baseline", "candidate")}
RUN = Run(
    command=(),
    environment={},
    started_at="2026-11-30T10:00:00.000Z",
    finished_at="2026-11-30T11:00:00.000Z",
)
BLOCK_S = 0.001

Effect = Callable[[random.Random], float]


def normal(source: random.Random) -> float:
    return source.gauss(0, 1)


def heavy(source: random.Random) -> float:
    """Student's t with 3 degrees of freedom, of standard deviation 1."""
    chi = sum(source.gauss(0, 1) ** 2 for _ in range(3))
    return source.gauss(0, 1) / math.sqrt(chi)


def bimodal(source: random.Random) -> float:
    return source.choice([-1, 1]) + source.gauss(0, 0.05)


@dataclass(frozen=True, kw_only=True)
class Laws:
    """What the device does: microseconds a launch, and logs added to their logarithm.

    `half`, `order` and `slot` are added to the first half of a round's paired blocks,
    to the ratio of rounds that the baseline opens, and to the first block of a round;
    `drift` a block; `first` to the first sample of each block of the first round.
    """

    baseline: float = 10.0
    candidate: float = 8.0
    again: float | None = None
    floor: float = 2.0
    bare: float = 0.5
    window: float = 0.0
    control: Mapping[str, float] = field(
        default_factory=lambda: {"none": 1.0, "once": 5.0, "twice": 9.0}
    )
    sample_sd: float = 0.002
    round_sd: float = 0.001
    effect: Effect = normal
    drift: float = 0.0
    half: float = 0.0
    order: float = 0.0
    slot: float = 0.0
    first: float = 0.0
    fresh: Mapping[str, float] = field(default_factory=dict)
    poison: Mapping[str, float] = field(default_factory=dict)
    clocks: Mapping[str, float | None] = field(default_factory=dict)
    ramp: Callable[[int], float] = lambda _: 1.0
    state: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def time(self, comparison: str, role: str) -> float:
        """Median microseconds a launch, what the window adds included."""
        if comparison == "control":
            return self.control[role]
        if comparison == "floor":
            return self.window + (self.bare if role == "bare" else self.floor)
        arm, _, values = role.partition("-")
        own = getattr(self, arm, None) or self.baseline
        factor = self.fresh.get(arm, 1.0) if values == "fresh" else 1.0
        return self.window + own * factor


STATE = {
    "sm_clock_mhz": "1980",
    "memory_clock_mhz": "3201",
    "temperature_c": "37",
    "power_w": "120.5",
    "pstate": "0",
    "utilization_ratio": "0.5",
    "compute_processes": "1",
    "throttle_reasons": "",
}


def to_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([columns, *rows])
    return text.getvalue()


def state_csv(span_s: float, **changes: str) -> str:
    row = {**STATE, **changes}
    readings = [
        [0.5 + span_s * k / 9, *(row[c] for c in STATE_COLUMNS[1:])] for k in range(10)
    ]
    return to_csv(STATE_COLUMNS, readings)


def trace_csv(laws: Laws, steps: int = 40, clock: Any = "1980.0") -> str:
    """A warm-up whose latency is `ramp` times what it comes to rest at."""
    rows = [
        [
            k,
            role,
            4 * SLOTS,
            laws.time("main", role) * laws.ramp(k),
            clock,
            0.01 * (k + 1),
        ]
        for k in range(steps)
        for role in ("baseline", "candidate")
    ]
    return to_csv(TRACE_COLUMNS, rows)


class Simulation:
    """One session of a claim under these laws, as text."""

    def __init__(self, claim: Claim, laws: Laws, number: int = 1, seed: int = 0):
        self.claim, self.laws, self.number = claim, laws, number
        self.random = random.Random(f"{seed}/{number}")
        self.rounds = plan(claim, DIGEST, number)
        trace = trace_csv(laws)
        kind = claim.workload.kind
        rotated = kind.cache_regime == "buffer-rotated"
        self.slots = SLOTS if rotated else 1
        batch = 1
        if is_batched(kind):
            parsed = parse_trace(trace, "warmup.csv")
            batch = launches_per_graph(parsed, self.slots, claim.policy.timing)
        self.batch = batch
        self.samples: list[list[Any]] = []
        self.blocks: list[list[Any]] = []
        for item in self.rounds:
            for step in item.steps:
                self._step(step)
        self.raw = {
            "plan.json": json.dumps(document(claim, DIGEST, number)),
            "samples.csv": to_csv(SAMPLE_COLUMNS, self.samples),
            "blocks.csv": to_csv(BLOCK_COLUMNS, self.blocks),
            "warmup.csv": trace,
            "state.csv": state_csv(self.blocks[-1][5], **laws.state),
        }

    def _step(self, step: Step) -> None:
        # One role's, so that a ratio obeys the law too.
        effects = dict.fromkeys(step.blocks, 0.0)
        effects[min(effects)] = self.laws.round_sd * self.laws.effect(self.random)
        cold = self.claim.workload.boundary == "cold-start"
        for block, role in enumerate(step.blocks):
            shift = self._shift(step, block, role) + effects[role]
            names = [step.comparison]
            names += PARTS if cold and step.comparison == "main" else []
            for name in names:
                self._block(step, block, role, shift, name)

    def _shift(self, step: Step, block: int, role: str) -> float:
        laws = self.laws
        shift = laws.drift * len(self.blocks)
        if step.comparison not in PAIRED:
            return shift
        shift += laws.slot if block == 0 else 0.0
        shift += laws.half if block < 2 else 0.0
        opened = step.comparison == "main" and role == step.blocks[0] == "baseline"
        return shift + (laws.order if opened else 0.0)

    def _block(
        self, step: Step, block: int, role: str, shift: float, name: str
    ) -> None:
        laws = self.laws
        clock = laws.clocks.get(role, 1980.0)
        begin = self.blocks[-1][5] + BLOCK_S if self.blocks else 1.0
        place = [name, step.round, block, role]
        launches = launches_of(step.comparison, self.batch)
        for sample in range(step.samples):
            log = shift + self.random.gauss(0, laws.sample_sd)
            log += laws.first if sample == step.round == 0 else 0.0
            poisoned = step.comparison in PAIRED and step.poisoned[block] == sample
            factor = laws.poison.get(role, 1.0) if poisoned else 1.0
            time = laws.time(step.comparison, role) * factor * math.exp(log)
            self.samples.append([*place, sample, launches, round(launches * time, 6)])
        held_s = sum(row[6] for row in self.samples[-step.samples :]) / 1e6
        end = round(begin + held_s + BLOCK_S, 6)
        self.blocks.append([*place, round(begin, 6), end, clock])

    def facts(self) -> dict[str, Any]:
        count = len([b for b in expected_blocks(self.rounds) if b[0] in PAIRED])
        repeats = [b[4] + 1 for b in expected_blocks(self.rounds) if b[0] == "repeat"]
        warm = [row for row in self.raw["warmup.csv"].splitlines() if "baseline" in row]
        return {
            "gpu_uuid": GPU_UUID,
            "conditions": {
                "gpu_uuid": GPU_UUID,
                "sm_clock_max_mhz": 1980,
                "memory_clock_max_mhz": 3201,
                "persistence_mode": True,
                "throttle_reasons_reported": True,
            },
            "plan_sha256": sha256(self.raw["plan.json"].encode()),
            "values_seed": values_seed(DIGEST, BINARIES, self.number),
            "slots": self.slots,
            "working_set_bytes": self.slots * SLOT_BYTES,
            "swept_bytes": 2 * DEVICE["l2_bytes"] + 4096,
            "warmup_launches": 4 * SLOTS * len(warm),
            "launches_per_graph": self.batch,
            "expired_blocks": 0,
            "checked_slots": count * self.slots + sum(repeats),
            "failed_elements": {"again": 0, "baseline": 0, "candidate": 0},
            **self.laws.facts,
        }

    def record(self, raw: Mapping[str, str] | None = None) -> Record:
        measured = {
            "exit_status": 0,
            "last_words": "",
            "binaries": BINARIES,
            "facts": self.facts(),
        }
        name = f"timing/s{self.number:02d}"
        return record(name, measured, raw or self.raw)


def record(name: str, measured: Any, raw: Mapping[str, str]) -> Record:
    """A record that ran, before anything is derived from it."""
    artifacts = [describe(f"x/{name}.raw/{k}", v.encode()) for k, v in raw.items()]
    return Record(
        gate=gate_of(name),
        claim=DIGEST,
        subject={},
        verdict=Verdict.passed("draft"),
        inputs=(),
        artifacts=tuple(artifacts),
        run=RUN,
        result={"declared": {}, "measured": measured, "derived": {}},
    )


def builds() -> dict[str, Record]:
    """Builds whose kernels are those that the sessions name."""
    return {f"{role}/build": record(f"{role}/build", {}, {"kernel.cubin": role})
            for role in BINARIES}  # fmt: skip


def derived(simulation: Simulation, raw: Mapping[str, str] | None = None, **changes):
    """Derived values and verdict of a session, as its gate and the verifier see them.

    `raw` replaces files, `changes` what was measured.
    """
    files = {**simulation.raw, **(raw or {})}
    made = simulation.record(files)
    made.result["measured"].update(changes)
    context = Context(
        claim=simulation.claim,
        backend=BACKEND,
        records=builds(),
        sources={},
        raw=lambda _, name: files[name],
    )
    return derive(f"timing/s{simulation.number:02d}", made, context)


def statistics(claim: Claim, laws: Laws, number: int = 1, seed: int = 0) -> Any:
    """What one session says."""
    found, _ = derived(Simulation(claim, laws, number, seed))
    return found["statistics"]


def reason(claim: Claim, laws: Laws) -> tuple[str, str]:
    """Status and reason of a session's verdict."""
    _, verdict = derived(Simulation(claim, laws))
    return verdict.status, verdict.reason


def artifact_error(
    simulation: Simulation, raw: Mapping[str, str] | None = None, **changes: Any
) -> str:
    """Why nothing is derived from these files."""
    with pytest.raises(ArtifactError) as error:
        derived(simulation, raw, **changes)
    return str(error.value)


def refusal_of(document: Any, path: str, value: Any) -> str:
    """What the schema says of a claim's YAML in which one field is set."""
    *parents, name = path.split(".")
    inner = document
    for parent in parents:
        inner = inner[parent]
    inner[name] = value
    with pytest.raises(ClaimError) as error:
        check(document, "claim", "claim.yaml", ClaimError)
    return str(error.value)


def unknown(message: str, path: str) -> bool:
    return message.startswith(f"claim.yaml: {path} is not a known field, expected one")
