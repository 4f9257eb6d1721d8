"""One session, decided: what its samples say, and whether they may be used.

A session that may not be used decides nothing; what those that
may say together is `timing.py`.
"""

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
from fivegates.plan import (
    PAIRED,
    PARTS,
    ROLES_OF,
    Round,
)
from fivegates.record import Reason, Verdict
from fivegates.rounds import Rounds, Timings, compared, locations, spread, values
from fivegates.state import other_processes, slowed, speedup_costs
from fivegates.warmup import TraceRow, is_stable

ARMS = ROLES_OF["main"]
# A refusal says no to the kernel, not to the day: it wants a surer interval.
REFUSAL_CONFIDENCE = 0.999
# Events and the host's clock may differ by so much over a block.
CLOCK_SLACK_S = 20e-6
# Twice the counted work must take twice the time, to this ratio.
CONTROL_TOLERANCE = 0.02
# Time of the last quarter of the rounds over that of the first, both arms.
DRIFT_LIMIT = 0.05
# Outputs that are poison cost the candidate this much more than the baseline: dirty
# lines of the cache weigh more on a faster kernel, so the margin is no limit here.
POISON_LIMIT = 1.05
# A floor above this share of an arm's time leaves too little of the arm in it.
FLOOR_SHARE = 0.5


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
        **{role: spread(timings, "main", role) for role in ARMS},
        **{f"{r}_floor": spread(timings, "floor", r) for r in ROLES_OF["floor"]},
        **{
            f"{role}_single": spread(timings, "single", role)
            if "single" in names
            else None
            for role in ARMS
        },
        "parts": {
            part: {r: spread(timings, part, r) for r in ARMS}
            for part in PARTS
            if part in names
        },
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
        "unlocked_clock_cost_ratio": speedup_costs(width, found.upper / found.lower),
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
    blocks: dict[tuple[int, int], list[float]] = defaultdict(list)
    for sample in timings.times("main"):
        key = (sample.round, sample.block)
        blocks[key].append(math.log(sample.elapsed_us / sample.launches))
    count = min(map(len, blocks.values()))
    spreads = [float(np.var(v, ddof=1)) for v in blocks.values() if count > 1]
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
    checks = sum(
        (step.samples + 1 if step.comparison == "repeat" else slots)
        for item in rounds
        for step in item.steps
        if step.comparison in (*PAIRED, "repeat")
        for _ in step.blocks
    )
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


def judge(
    measured: Mapping[str, Any], derived: Mapping[str, Any] | None, claim: Claim
) -> Verdict:
    """Whether one session's samples may be used at all."""
    if measured["exit_status"] is None:
        return Verdict.not_run(Reason.TIMEOUT, "the session did not end in time")
    if derived is None or measured["exit_status"] != 0:
        return Verdict.not_run(
            Reason.PROCESS_FAILED,
            f"exit status {measured['exit_status']}: {measured['last_words']}",
        )
    facts = measured["facts"]
    return (
        _refused(facts, derived, claim)
        or _unseen(derived)
        or _disturbed(facts, derived)
        or _unsteady(derived, claim)
        or Verdict.passed(
            f"{facts['checked_slots']} outputs checked after timing, none wrong"
        )
    )


def _refused(
    facts: Mapping[str, Any], derived: Mapping[str, Any], claim: Claim
) -> Verdict | None:
    """What no repetition mends: the timed work was not the work."""
    if wrong := {k: v for k, v in facts["failed_elements"].items() if v}:
        worst = ", ".join(f"{role} {count}" for role, count in sorted(wrong.items()))
        return Verdict.fail(
            Reason.TIMED_OUTPUT_WRONG,
            f"elements outside tolerance after timing: {worst}",
        )
    repeat = derived["repeat"]
    if repeat and repeat["surely_above"] > 1 + claim.margin:
        return Verdict.fail(
            Reason.REPEATED_VALUES,
            "candidate is faster only on values that it has seen before",
        )
    poisoned = derived["poisoned"]
    if poisoned and poisoned["surely_above"] > POISON_LIMIT:
        return Verdict.fail(
            Reason.REPEATED_VALUES,
            "candidate is faster only where its outputs are already right",
        )
    return None


def _unseen(derived: Mapping[str, Any]) -> Verdict | None:
    """What nobody looked at is not known to be well."""
    if not derived["state"]["readings_in_rounds"]:
        return Verdict.inconclusive(
            Reason.STATE_UNKNOWN, "nobody read the device's state during the rounds"
        )
    if derived["cycles"] is None and derived["warm"] is not None:
        return Verdict.inconclusive(
            Reason.STATE_UNKNOWN, "the SM clock was not read in every block"
        )
    return None


def _disturbed(facts: Mapping[str, Any], derived: Mapping[str, Any]) -> Verdict | None:
    """What came between the device and its work."""
    state = derived["state"]
    if facts["expired_blocks"]:
        return Verdict.inconclusive(
            Reason.HELD_QUEUE_EXPIRED,
            f"the hold gave up in {facts['expired_blocks']} blocks",
        )
    if bad := slowed(state):
        return Verdict.inconclusive(
            Reason.THROTTLED, f"device slowed: {', '.join(bad)}"
        )
    if others := other_processes(state):
        return Verdict.inconclusive(
            Reason.COMPETING_WORK,
            f"{others + 1} compute processes on the device, expected 1",
        )
    control = derived["control_ratio"]
    if control is not None and abs(control / 2 - 1) > CONTROL_TOLERANCE:
        return Verdict.inconclusive(
            Reason.TIMER_UNRELIABLE,
            f"twice the counted work took {control:.4g} times as long, expected 2",
        )
    return None


def _unsteady(derived: Mapping[str, Any], claim: Claim) -> Verdict | None:
    """What makes the session no fair comparison."""
    margin = claim.margin
    if derived["null_outcome"] in ("faster", "slower"):
        return Verdict.inconclusive(
            Reason.NULL_DIFFERS, f"baseline against itself is {derived['null_outcome']}"
        )
    if derived["warm"] is False:
        return Verdict.inconclusive(
            Reason.NOT_STATIONARY,
            "latency or SM clock had not come to rest when the warm-up was cut off",
        )
    if abs(math.log(derived["drift_ratio"])) > math.log1p(DRIFT_LIMIT):
        return Verdict.inconclusive(
            Reason.NOT_STATIONARY,
            f"the last rounds took {derived['drift_ratio']:.4g} times as long as the "
            f"first, expected within {DRIFT_LIMIT:g}",
        )
    for field, what in (
        ("half_effect", "first halves of rounds over the second ones"),
        ("order_effect", "rounds that baseline opened over the others"),
    ):
        found = Interval(**derived[field])
        if outcome(found, margin) in ("faster", "slower"):
            return Verdict.inconclusive(
                Reason.ORDER_EFFECT,
                f"{what}: [{found.lower:.4g}, {found.upper:.4g}], beyond the margin "
                f"{margin:g}",
            )
    cycles = derived["cycles"]
    if cycles is not None and cycles["outcome"] != derived["outcome"]:
        clock = cycles["clock_ratio"]["estimate"]
        if abs(math.log(clock)) > math.log1p(margin) / 4:
            return Verdict.inconclusive(
                Reason.UNEQUAL_STATE,
                f"{derived['outcome']} in time, {cycles['outcome']} in cycles: "
                f"baseline's SM clock was {clock:.4g} times the candidate's",
            )
    return _explained(derived, margin) or _hidden(derived)


def _explained(derived: Mapping[str, Any], margin: float) -> Verdict | None:
    """A win no larger than what repetition may give it."""
    if derived["outcome"] != "faster":
        return None
    for field, what in (
        ("repeat", "fresh values"),
        ("poisoned", "poisoned outputs"),
    ):
        cost = derived[field] and derived[field]["candidate_over_baseline"]["lower"]
        if cost and cost > 1 and derived["speedup"]["upper"] / cost < 1 + margin:
            return Verdict.inconclusive(
                Reason.REPEATED_VALUES,
                f"{what} cost the candidate {cost:.4g} times what they cost the "
                "baseline or more, which is all that it gains",
            )
    return None


def _hidden(derived: Mapping[str, Any]) -> Verdict | None:
    """An interval that is mostly harness shows kernels more alike than they are."""
    if not derived["kind"].startswith("device/"):
        return None
    floor = derived["bare_floor"]["median_us"]
    for role in ARMS:
        share = floor / derived[role]["median_us"]
        if share > FLOOR_SHARE:
            return Verdict.inconclusive(
                Reason.FLOOR_DOMINATED,
                f"an empty kernel of one warp takes {share:.2g} of {role}'s time, "
                f"expected at most {FLOOR_SHARE:g}",
            )
    return None
