"""What the samples of one session say; `fitness.py` says whether they may be used."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from fivegates.backend import Device
from fivegates.claim import Claim
from fivegates.errors import ArtifactError
from fivegates.inference import (
    Estimate,
    Interval,
    allocate,
    broken_laws,
    mean_of,
    outcome,
    outliers,
    paired,
    residuals,
)
from fivegates.plan import PARTS, ROLES_OF, Round, planned_checks
from fivegates.rounds import (
    Rounds,
    Timings,
    block_times,
    compared,
    locations,
    spread,
    values,
)
from fivegates.state import unlocked_cost_ratio
from fivegates.warmup import TraceRow, is_stable

ARMS = ROLES_OF["main"]
# A refusal says no to the kernel, not to the day: it wants a surer interval.
REFUSAL_CONFIDENCE = 0.999
# Events and the host's clock may differ by so much over a block.
CLOCK_SLACK_S = 20e-6


def derive(
    timings: Timings, trace: Sequence[TraceRow], state: Mapping[str, Any], claim: Claim
) -> dict[str, Any]:
    """Statistics of one session. Times in microseconds a launch."""
    policy, margin = claim.policy.timing, claim.margin
    cold = timings.kind.boundary == "cold-start"
    names = {sample.comparison for sample in timings.samples}
    main = compared(timings, "main", ARMS)
    mean, order = paired(main.ratio, main.first)
    blank = compared(timings, "null", ROLES_OF["null"])
    null_mean, _ = paired(blank.ratio, blank.first)
    null = null_mean.interval(policy.confidence)
    interval = mean.interval(policy.confidence)
    said = outcome(interval, margin, null.excursion)
    return {
        "kind": str(timings.kind),
        "launches_per_sample": next(
            s.launches for s in timings.samples if s.comparison == "main"
        ),
        "warm": None if cold else is_stable(trace, policy),
        **_spreads(timings, names),
        "round_speedups": np.exp(main.ratio).tolist(),
        "speedup": asdict(interval),
        "outcome": said,
        "null": asdict(null),
        "null_outcome": outcome(null, margin),
        "smallest_effect_ratio": max(
            e.detectable(policy.confidence) for e in (mean, null_mean)
        ),
        "order_effect": asdict(order.interval(policy.confidence)),
        "half_effect": asdict(mean_of(main.halves).interval(policy.confidence)),
        "drift_ratio": _drift(main.level),
        "cycles": _in_cycles(main, interval, claim, null),
        "repeat": _repeats(timings, claim) if "repeat" in names else None,
        "poisoned": _behind_poison(timings, claim) if "repeat" in names else None,
        "control_ratio": _control(timings) if "control" in names else None,
        "components": _components(timings, main, mean),
        "broken_laws": broken_laws(residuals(main.ratio, main.first)),
        "outliers": {
            role: outliers(np.log(values(timings, "main", role))) for role in ARMS
        },
        "state": dict(state),
    }


def _spreads(timings: Timings, names: set[str]) -> dict[str, Any]:
    """Quantiles of the arms, of their floors, single launches and cold parts."""

    def arms(comparison: str) -> dict[str, Any]:
        return {role: spread(timings, comparison, role) for role in ARMS}

    singles = arms("single") if "single" in names else dict.fromkeys(ARMS)
    return {
        **arms("main"),
        **{f"{r}_floor": spread(timings, "floor", r) for r in ROLES_OF["floor"]},
        **{f"{role}_single": found for role, found in singles.items()},
        "parts": {part: arms(part) for part in PARTS if part in names},
    }


def _drift(level: np.ndarray) -> float:
    """Time of the last quarter of the rounds over that of the first."""
    quarter = max(1, level.size // 4)
    return math.exp(float(level[-quarter:].mean() - level[:quarter].mean()))


def _in_cycles(
    main: Rounds, interval: Interval, claim: Claim, null: Interval
) -> dict[str, Any] | None:
    """The same ratio in cycles, time by SM clock; None where a clock was not read."""
    if main.clock_ratio is None:
        return None
    confidence = claim.policy.timing.confidence
    found = paired(main.ratio + main.clock_ratio, main.first)[0].interval(confidence)
    width = interval.upper / interval.lower
    return {
        "speedup": asdict(found),
        "outcome": outcome(found, claim.margin, null.excursion),
        "clock_ratio": asdict(mean_of(main.clock_ratio).interval(confidence)),
        "unlocked_clock_cost_ratio": unlocked_cost_ratio(
            width, found.upper / found.lower
        ),
    }


def _repeats(timings: Timings, claim: Claim) -> dict[str, Any]:
    """Time on fresh values over that on the same ones, and the arms' difference."""
    times = {
        (number, role): math.log(time)
        for (number, _, role), time in locations(timings, "repeat").items()
    }
    numbers = sorted({number for number, _ in times})
    return _arms_and_difference(
        {
            arm: np.array(
                [times[n, f"{arm}-fresh"] - times[n, f"{arm}-same"] for n in numbers]
            )
            for arm in ARMS
        },
        claim,
    )


def _behind_poison(timings: Timings, claim: Claim) -> dict[str, Any]:
    """Time of the sample behind the poison over the others' in its block."""
    usual = locations(timings, "main")
    found: dict[str, dict[int, list[float]]] = {arm: defaultdict(list) for arm in ARMS}
    for sample in timings.samples:
        if sample.comparison == "main" and timings.is_poisoned(sample):
            others = usual[sample.round, sample.block, sample.role]
            log = math.log(sample.elapsed_us / sample.launches / others)
            found[sample.role][sample.round].append(log)
    return _arms_and_difference(
        {
            arm: np.array([np.mean(rounds[n]) for n in sorted(rounds)])
            for arm, rounds in found.items()
        },
        claim,
    )


def _arms_and_difference(
    logs: Mapping[str, np.ndarray], claim: Claim
) -> dict[str, Any]:
    """Ratios of each arm, and of the candidate's to the baseline's, over rounds."""
    confidence = claim.policy.timing.confidence
    gained = mean_of(logs["candidate"] - logs["baseline"])
    return {
        **{arm: asdict(mean_of(logs[arm]).interval(confidence)) for arm in ARMS},
        "candidate_over_baseline": asdict(gained.interval(confidence)),
        "surely_above": gained.interval(REFUSAL_CONFIDENCE).lower,
    }


def _control(timings: Timings) -> float:
    """Time that twice the counted work adds over what it adds once."""
    times = locations(timings, "control")
    none, once, twice = (
        float(np.median([t for (_, _, r), t in times.items() if r == role]))
        for role in ROLES_OF["control"]
    )
    return (twice - none) / (once - none) if once > none else 0.0


def _components(timings: Timings, main: Rounds, mean: Estimate) -> dict[str, Any]:
    """Standard deviations of logs, and the samples a block that they advise.

    `sample_sd` within blocks; `ratio_sd` of rounds about the means of their order,
    `round_sd` what samples do not explain of it: a ratio has two blocks of a role on
    either side.
    """
    blocks = block_times(timings, "main").values()
    count = min(map(len, blocks))
    spreads = [float(np.var(np.log(times), ddof=1)) for times in blocks if count > 1]
    within = float(np.mean(spreads)) if spreads else 0.0
    total = mean.error**2 * main.ratio.size
    parts = {
        "sample_sd": math.sqrt(within),
        "round_sd": math.sqrt(max(0.0, total - within / count)),
        "ratio_sd": math.sqrt(total),
    }
    return {**parts, "advised_samples": allocate(parts, _sample_cost(timings))}


def _sample_cost(timings: Timings) -> float:
    """Time of one sample over the time that a block costs beside its samples."""
    main = [block for block in timings.blocks if block.comparison == "main"]
    inside = sum(sample.elapsed_us for sample in timings.samples) / 1e6
    whole = timings.blocks[-1].end_s - timings.blocks[0].begin_s
    sample = float(
        np.median(
            [s.elapsed_us / 1e6 for s in timings.samples if s.comparison == "main"]
        )
    )
    beside = max(whole - inside, sample) * len(main) / len(timings.blocks)
    return sample / (beside / len(main))


def require_blocks_hold_samples(name: str, timings: Timings, duration_s: float) -> None:
    """ArtifactError where samples do not fit their block, or blocks the session."""
    inside: dict[tuple[str, int, int], float] = defaultdict(float)
    for sample in timings.samples:
        inside[sample.comparison, sample.round, sample.block] += sample.elapsed_us / 1e6
    for block in timings.blocks:
        held = inside[block.comparison, block.round, block.block]
        if held > block.end_s - block.begin_s + CLOCK_SLACK_S:
            raise ArtifactError(
                f"{name}/blocks.csv: {block.comparison}, round {block.round}, block "
                f"{block.block} lasts {block.end_s - block.begin_s:.6f} s, expected at "
                f"least the {held:.6f} s of its samples"
            )
    if timings.blocks[-1].end_s > duration_s + 1:
        raise ArtifactError(
            f"{name}/blocks.csv: ends at {timings.blocks[-1].end_s} s, expected within "
            f"the {duration_s:.3f} s of the session"
        )


def require_plan_kept(
    name: str,
    facts: Mapping[str, Any],
    claim: Claim,
    device: Device,
    rounds: Sequence[Round],
    trace: Sequence[TraceRow],
) -> None:
    """ArtifactError where a session says of itself that it did less than the plan."""
    workload, slots = claim.workload, facts["slots"]
    cold = workload.boundary == "cold-start"
    checks = planned_checks(rounds, slots)
    rotated = workload.cache_regime == "buffer-rotated"
    least = 2 * device.l2_bytes + 1
    arms = ["again", "baseline", "candidate"]
    warm = sum(row.launches for row in trace if row.role == "baseline")
    for kept, field, expected in (
        (sorted(facts["failed_elements"]) == arms, "failed_elements", arms),
        (cold or facts["checked_slots"] == checks, "checked_slots", checks),
        (
            workload.rotation_slots in (None, slots),
            "slots",
            workload.rotation_slots,
        ),
        (slots == 1 or rotated, "slots", 1),
        (
            not rotated or facts["working_set_bytes"] >= least,
            "working_set_bytes",
            f"at least {least}",
        ),
        (cold or facts["warmup_launches"] == warm, "warmup_launches", warm),
        (
            workload.cache_regime != "swept" or facts["swept_bytes"] >= least,
            "swept_bytes",
            f"at least {least}",
        ),
    ):
        if not kept:
            raise ArtifactError(
                f"{name}: {field} is {facts[field]}, expected {expected}"
            )
