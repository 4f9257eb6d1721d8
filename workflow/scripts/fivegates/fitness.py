"""Whether the samples of one session may be used, and if not, why.

A session that may not be used decides nothing; what those that may say together is
`timing.py`.
"""

import math
from collections.abc import Mapping
from typing import Any

from fivegates.claim import Claim
from fivegates.inference import Interval, outcome
from fivegates.plan import ROLES_OF
from fivegates.record import Reason, Verdict
from fivegates.state import other_processes, slowed

ARMS = ROLES_OF["main"]
# Twice the counted work must take twice the time, to this ratio.
CONTROL_TOLERANCE = 0.02
# Time of the last quarter of the rounds over that of the first, both arms.
DRIFT_LIMIT = 0.05
# Outputs that are poison cost the candidate this much more than the baseline: dirty
# lines of the cache weigh more on a faster kernel, so the margin is no limit here.
POISON_LIMIT = 1.05
# A floor above this share of an arm's time leaves too little of the arm in it.
FLOOR_SHARE = 0.5


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
    cold = derived["kind"].startswith("cold-start/")
    if derived["cycles"] is None and not cold:
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
