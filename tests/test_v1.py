"""Gate 3 of receipts v1 stays what it was; real trees of it are in test_verify."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.claim import FIRST_VERSION_TIMING, TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.plan import SAMPLE_COLUMNS, Sample
from fivegates.record import Reason
from fivegates.v1 import (
    MAIN_ROLES,
    STATE_COLUMNS,
    derive_session,
    derive_state,
    derive_timing,
    judge_session,
    judge_timing,
    plan,
    round_ratios,
    samples,
)
from simulated import STATE, to_csv

ROUNDS, SAMPLES, LAUNCHES, MARGIN = 8, 3, 24, 0.01
POLICY = TimingPolicy(
    sessions=3,
    rounds=ROUNDS,
    samples=SAMPLES,
    graph_us=100.0,
    warmup_launches=20,
    warmup_s=0.25,
    confidence=0.95,
    confirm_after_s=3600.0,
    timeout_s=300.0,
    **FIRST_VERSION_TIMING,
)
TIMES = {"baseline": 5.0, "candidate": 4.0, "again": 5.0}


def drawn(times=TIMES, seed=0, noise=0.002, drift=0.0):
    """Samples by the plan: known medians, seeded noise, growing by `drift` a block."""
    draw = np.random.default_rng(seed)
    rows, count = [], 0
    for step in plan(ROUNDS, 1):
        for block, role in enumerate(step.blocks):
            base = 1.0 if step.comparison == "floor" else times[role]
            base *= (1 + drift) ** count
            count += 1
            rows += [
                Sample(
                    comparison=step.comparison,
                    round=step.round,
                    block=block,
                    role=role,
                    sample=index,
                    launches=LAUNCHES,
                    elapsed_us=LAUNCHES * base * math.exp(draw.normal(0, noise)),
                )
                for index in range(SAMPLES)
            ]
    return rows


def as_csv(rows):
    columns = [[getattr(row, column) for column in SAMPLE_COLUMNS] for row in rows]
    return to_csv(SAMPLE_COLUMNS, columns)


def parsed(text):
    return samples(text, POLICY, 1, LAUNCHES, "samples.csv")


@given(st.integers(8, 40), st.integers(1, 99))
def test_plan_balances_roles_and_alternates_the_order(rounds, session):
    steps = plan(rounds, session)
    main = [step for step in steps if step.comparison == "main"]
    assert [step.round for step in main] == list(range(rounds))
    for step in main:
        a, b = step.blocks[:2]
        assert step.blocks == (a, b, b, a)
        assert {a, b} == set(step.loads) == set(MAIN_ROLES)
        assert a == MAIN_ROLES[step.round % 2]
    assert plan(rounds, session) == steps


def test_samples_survive_their_file():
    rows = drawn()
    assert parsed(as_csv(rows)) == tuple(rows)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: r[:-1], "samples.csv: 239 samples, expected 240"),
        (
            lambda r: r[::-1],
            "samples.csv: row 2: ['floor', '7', '1', 'candidate', '2', '24'], "
            "expected ['main', 0, 0, 'baseline', 0, 24]",
        ),
        (
            lambda r: [r[0], r[2], r[1], *r[3:]],
            "samples.csv: row 3: ['main', '0', '0', 'baseline', '2', '24'], "
            "expected ['main', 0, 0, 'baseline', 1, 24]",
        ),
    ],
    ids=["dropped", "reversed", "shuffled"],
)
def test_samples_out_of_plan_are_refused(spoil, message):
    with pytest.raises(ArtifactError) as error:
        parsed(as_csv(spoil(drawn())))
    assert str(error.value) == message


def test_known_ratio_is_found():
    found = derive_session(drawn(), POLICY, MARGIN)
    assert found["speedup"]["estimate"] == pytest.approx(1.25, rel=2e-3)
    assert found["speedup"]["lower"] < 1.25 < found["speedup"]["upper"]
    assert (found["outcome"], found["null_outcome"]) == ("faster", "equivalent")
    assert found["baseline"]["median_us"] == pytest.approx(5.0, rel=2e-3)
    assert found["candidate_floor"]["median_us"] == pytest.approx(1.0, rel=2e-3)


def test_linear_drift_over_a_session_does_not_move_the_ratio():
    found = derive_session(drawn(noise=1e-6, drift=0.003), POLICY, MARGIN)
    assert found["speedup"]["estimate"] == pytest.approx(1.25, rel=1e-5)


def test_exchanging_the_arms_inverts_the_ratio():
    ours, theirs = (round_ratios(drawn(), "main", MAIN_ROLES[::s]) for s in (1, -1))
    assert np.allclose(ours * theirs, 1, rtol=1e-14)


def sessions(*times):
    return derive_timing(
        [derive_session(drawn(t, seed), POLICY, MARGIN) for seed, t in enumerate(times)]
    )


def test_sessions_that_agree_decide():
    derived = sessions(TIMES, TIMES, TIMES)
    verdict = judge_timing(derived, MARGIN)
    assert (verdict.status, derived["outcome"]) == ("pass", "faster")
    assert derived["speedup_lower"] <= derived["session_speedup_min"]
    assert derived["session_speedup_max"] <= derived["speedup_upper"]


@pytest.mark.parametrize(
    ("second", "reason", "message"),
    [
        (
            {"candidate": 6.0},
            Reason.SESSIONS_DISAGREE,
            "sessions say faster, slower, faster; speedup 0.83",
        ),
        (
            {"again": 4.8},
            Reason.NULL_DIFFERS,
            "session 2: baseline against itself is faster",
        ),
    ],
)
def test_sessions_that_disagree_or_trust_nothing_decide_nothing(
    second, reason, message
):
    verdict = judge_timing(sessions(TIMES, {**TIMES, **second}, TIMES), MARGIN)
    assert (verdict.status, verdict.reason) == ("inconclusive", reason)
    assert verdict.message.startswith(message)


def test_interval_on_both_sides_of_the_margin_is_too_wide():
    close = {**TIMES, "candidate": 5.0 / 1.0101}
    verdict = judge_timing(sessions(close, close, close), MARGIN)
    assert (verdict.status, verdict.reason) == (
        "inconclusive",
        Reason.INTERVAL_TOO_WIDE,
    )


def test_kernel_against_itself_is_no_improvement():
    same = dict.fromkeys(TIMES, 5.0)
    derived = sessions(same, same, same)
    assert derived["outcome"] == "equivalent"
    assert judge_timing(derived, MARGIN).status == "pass"


def state(**changes):
    rows = [{"elapsed_s": "0.01", **STATE, **change} for change in ({}, changes)]
    return to_csv(STATE_COLUMNS, [[row[c] for c in STATE_COLUMNS] for row in rows])


def session_record(**changes):
    facts = {
        "failed_elements": {"baseline": 0, "candidate": 0, "again": 0},
        "expired_blocks": 0,
        "checked_slots": 1536,
    }
    return {"exit_status": 0, "last_words": "", "facts": {**facts, **changes}}


def test_quantity_that_is_not_reported_is_none():
    """corpus D20: never 0 W and never 0 MHz."""
    found = derive_state(state(power_w="", sm_clock_mhz=""), "state.csv")
    assert found["power_max_w"] == 120.5
    everywhere = state().replace("120.5", "").replace("1980", "")
    found = derive_state(everywhere, "state.csv")
    assert (found["power_max_w"], found["sm_clock_min_mhz"]) == (None, None)


def test_state_without_rows_is_refused():
    with pytest.raises(ArtifactError) as error:
        derive_state(",".join(STATE_COLUMNS) + "\n", "state.csv")
    assert str(error.value) == f"state.csv: no rows with columns {STATE_COLUMNS}"


@pytest.mark.parametrize(
    ("facts", "changes", "status", "reason"),
    [
        ({}, {}, "pass", Reason.PASSED),
        (
            {"failed_elements": {"baseline": 0, "candidate": 3}},
            {},
            "fail",
            Reason.TIMED_OUTPUT_WRONG,
        ),
        ({"expired_blocks": 1}, {}, "inconclusive", Reason.HELD_QUEUE_EXPIRED),
        (
            {},
            {"throttle_reasons": "sw-power-cap+hw-thermal-slowdown"},
            "inconclusive",
            Reason.THROTTLED,
        ),
        ({}, {"throttle_reasons": "sw-power-cap"}, "pass", Reason.PASSED),
        ({}, {"compute_processes": "2"}, "inconclusive", Reason.COMPETING_WORK),
        ({}, {"compute_processes": ""}, "pass", Reason.PASSED),
    ],
)
def test_session_that_may_not_be_used_says_why(facts, changes, status, reason):
    found = derive_state(state(**changes), "state.csv")
    verdict = judge_session(session_record(**facts), found)
    assert (verdict.status, verdict.reason) == (status, reason)


@pytest.mark.parametrize(
    ("exit_status", "reason"), [(None, Reason.TIMEOUT), (1, Reason.PROCESS_FAILED)]
)
def test_session_that_broke_off_did_not_run(exit_status, reason):
    broke = {"exit_status": exit_status, "last_words": "out of memory", "facts": None}
    verdict = judge_session(broke, None)
    assert (verdict.status, verdict.reason) == ("not-run", reason)
