"""What this machine's timing can tell apart: null and planted experiments, counted.

An experiment is a small paired comparison by the machinery of gate 3. Identical kernels
must differ in as many experiments as the confidence allows, planted differences be seen
with the right sign.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, Literal

import numpy as np

from fivegates.errors import ArtifactError
from fivegates.inference import Interval, mean_of, outcome, paired
from fivegates.plan import ROLES_OF, Comparison, Round, draw
from fivegates.table import from_csv, to_csv

Unit = Literal["graph", "single"]

CALIBRATION_SCHEMA = "fivegates:calibration/v1"
ROUND_COLUMNS = ("experiment", "number", "swapped", "round", "first", "ratio")
COST_COLUMNS = ("experiment", "number", "elapsed_s")
# Share of planted experiments that must lie on the right side of 1.
SEEN_SHARE = 0.95


# Turns of seven multiply-adds, then turns of nine: one more of these instead of one of
# those is two multiply-adds more.
Work = tuple[int, int]
TEN_US: Work = (522, 1)
FIVE_US: Work = (240, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """One kind of experiment.

    `work` is what the arms do, the longer first, or None for the triad. `planted` is
    the difference that was meant: how large it is on a device, the ratios say.
    Experiments with one exchange the labels of the arms in every second of them.
    """

    name: str
    comparison: Comparison
    unit: Unit
    rounds: int
    work: tuple[Work, Work] | None
    planted: float

    def is_swapped(self, number: int) -> bool:
        """Whether the experiment of this number has its labels exchanged."""
        return self.planted > 0 and number % 2 == 1


NULLS: tuple[tuple[str, Comparison, tuple[Work, Work] | None], ...] = (
    ("triad-self", "self", None),
    ("triad-two-loads", "null", None),
    ("counted-self", "self", (TEN_US, TEN_US)),
)
# Single launches are noisy and quickly made.
ROUNDS: Mapping[Unit, int] = {"graph": 8, "single": 16}
PLANTED: tuple[tuple[str, int, float, tuple[Work, Work]], ...] = (
    ("planted-2-turns-of-10us", 40, 0.0008, ((520, 3), TEN_US)),
    ("planted-4-turns-of-10us", 24, 0.0016, ((518, 5), TEN_US)),
    ("planted-11-turns-of-5us", 16, 0.009, ((229, 12), FIVE_US)),
)
EXPERIMENTS = tuple(
    Experiment(
        name=f"{name}-{unit}",
        comparison=comparison,
        unit=unit,
        rounds=ROUNDS[unit],
        work=work,
        planted=0.0,
    )
    for name, comparison, work in NULLS
    for unit in ROUNDS
) + tuple(
    Experiment(
        name=name,
        comparison="main",
        unit="graph",
        rounds=rounds,
        work=work,
        planted=planted,
    )
    for name, rounds, planted, work in PLANTED
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundRatio:
    """Time of the first role over the second's in one round of one experiment."""

    experiment: str
    number: int
    swapped: bool
    round: int
    first: bool
    ratio: float


def rounds_csv(rounds: Sequence[RoundRatio]) -> str:
    """Every round, a row each."""
    return to_csv(
        ROUND_COLUMNS,
        [[int(v) if isinstance(v, bool) else v for v in astuple(r)] for r in rounds],
    )


def costs_csv(costs_s: Mapping[tuple[str, int], float]) -> str:
    """Seconds of every experiment, a row each."""
    return to_csv(COST_COLUMNS, [[*key, cost] for key, cost in costs_s.items()])


def parse_rounds(text: str, name: str) -> tuple[RoundRatio, ...]:
    """Read rounds.csv; ArtifactError where a row is not one."""
    found = []
    for number, row in enumerate(from_csv(text, ROUND_COLUMNS, name), start=2):
        try:
            ratio = float(row["ratio"])
            whole = {key: int(row[key]) for key in ROUND_COLUMNS[1:5]}
        except (TypeError, ValueError) as error:
            raise ArtifactError(
                f"{name}: row {number}: {error}, expected a round"
            ) from None
        if not (math.isfinite(ratio) and ratio > 0):
            raise ArtifactError(
                f"{name}: row {number}: ratio is {row['ratio']!r}, expected a positive "
                "finite number"
            )
        found.append(
            RoundRatio(
                experiment=row["experiment"],
                number=whole["number"],
                swapped=bool(whole["swapped"]),
                round=whole["round"],
                first=bool(whole["first"]),
                ratio=ratio,
            )
        )
    return tuple(found)


def described(kinds: Sequence[Experiment]) -> list[dict[str, Any]]:
    """Kinds of experiments as a calibration names them."""
    return [{**asdict(kind), "work": None} for kind in kinds]


def derive(
    rounds: Sequence[RoundRatio],
    costs_s: Mapping[tuple[str, int], float],
    kinds: Sequence[Experiment],
    *,
    confidence: float,
    margin: float,
) -> list[dict[str, Any]]:
    """What each kind of experiment showed."""
    rows: dict[str, dict[int, list[RoundRatio]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rounds:
        rows[row.experiment][row.number].append(row)
    return [
        {
            **_derive_kind(kind, rows[kind.name], confidence, margin),
            "seconds_median": float(
                np.median([costs_s[kind.name, number] for number in rows[kind.name]])
            ),
        }
        for kind in kinds
    ]


def again(document: Mapping[str, Any], raw: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the raw files of a calibration say, to be compared with what it says."""
    costs = {
        (row["experiment"], int(row["number"])): float(row["elapsed_s"])
        for row in from_csv(raw["costs.csv"], COST_COLUMNS, "costs.csv")
    }
    rounds = parse_rounds(raw["rounds.csv"], "rounds.csv")
    kinds = [Experiment(**kind) for kind in document["experiments"]]
    _require_complete(rounds, costs, kinds)
    return derive(
        rounds,
        costs,
        kinds,
        confidence=document["policy"]["confidence"],
        margin=document["margin"],
    )


def _require_complete(
    rounds: Sequence[RoundRatio],
    costs_s: Mapping[tuple[str, int], float],
    kinds: Sequence[Experiment],
) -> None:
    """ArtifactError unless every experiment of each kind is there, as it was drawn."""
    expected = [
        (kind.name, number, kind.is_swapped(number), item.round, _opens(item, kind))
        for kind in kinds
        for number in range(sum(name == kind.name for name, _ in costs_s))
        for item in plan_of(kind, number, batches=1, singles=1)
    ]
    found = [(r.experiment, r.number, r.swapped, r.round, r.first) for r in rounds]
    if found != expected:
        raise ArtifactError(
            "rounds.csv: experiments are left out or out of order, expected all that "
            "costs.csv names, as they were drawn"
        )


def _opens(item: Round, kind: Experiment) -> bool:
    (step,) = item.steps
    return step.blocks[0] == ROLES_OF[kind.comparison][0]


def plan_of(
    kind: Experiment, number: int, *, batches: int, singles: int
) -> tuple[Round, ...]:
    """The rounds of one experiment; their orders do not depend on the samples."""
    return draw(
        f"{kind.name}/{number}",
        [kind.comparison],
        rounds=kind.rounds,
        batches=batches,
        singles=singles,
        every={},
    )


def _derive_kind(
    kind: Experiment,
    numbered: Mapping[int, Sequence[RoundRatio]],
    confidence: float,
    margin: float,
) -> dict[str, Any]:
    signs = [-1 if group[0].swapped else 1 for group in numbered.values()]
    estimates = [
        paired(
            np.log([row.ratio for row in group]),
            np.array([row.first for row in group]),
        )[0]
        for group in numbered.values()
    ]
    intervals = [estimate.interval(confidence) for estimate in estimates]
    logs = np.array([e.centre * s for e, s in zip(estimates, signs, strict=True)])
    return {
        "name": kind.name,
        "unit": kind.unit,
        "rounds": kind.rounds,
        "planted": kind.planted,
        "experiments": len(intervals),
        "excluding_one": sum(i.excludes_one() for i in intervals),
        "right_side": sum(map(_right, intervals, signs)),
        "faster_or_slower": sum(
            outcome(i, margin) in ("faster", "slower") for i in intervals
        ),
        "ratio": math.exp(float(logs.mean())),
        "ratio_sd": float(logs.std(ddof=1)),
        "predicted_sd": math.sqrt(float(np.mean([e.error**2 for e in estimates]))),
        "half_width_median": float(
            np.median([math.log(i.upper / i.lower) / 2 for i in intervals])
        ),
        "label_swap": _label_swap(estimates, signs, confidence),
    }


def _right(interval: Interval, sign: int) -> bool:
    """Whether the whole interval says that the longer kernel is longer."""
    return interval.lower > 1 if sign > 0 else interval.upper < 1


def _label_swap(
    estimates: Sequence[Any], signs: Sequence[int], confidence: float
) -> list[float] | None:
    """Interval of the ratio times that with exchanged labels, which is 1."""
    kept = [e.centre for e, s in zip(estimates, signs, strict=True) if s > 0]
    swapped = [e.centre for e, s in zip(estimates, signs, strict=True) if s < 0]
    pairs = min(len(kept), len(swapped))
    if pairs < 2:
        return None
    sums = np.array(kept[:pairs]) + np.array(swapped[:pairs])
    found = mean_of(sums).interval(confidence)
    return [found.lower, found.upper]


def cite(document: Mapping[str, Any], name: str, sha256: str) -> dict[str, Any]:
    """What a receipt says of a calibration: false positives, and what was seen."""
    kinds = document["derived"]
    nulls = [kind for kind in kinds if not kind["planted"]]
    seen = [
        kind["ratio"]
        for kind in kinds
        if kind["planted"] and kind["right_side"] >= SEEN_SHARE * kind["experiments"]
    ]
    return {
        "name": name,
        "sha256": sha256,
        "measured_at": document["measured_at"],
        "confidence": document["policy"]["confidence"],
        "null_experiments": sum(kind["experiments"] for kind in nulls),
        "null_excluding_one": sum(kind["excluding_one"] for kind in nulls),
        "smallest_planted_ratio": min(seen, default=None),
    }
