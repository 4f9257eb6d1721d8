"""Laws of the plan and of the statistics; real samples are in test_verify."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.claim import TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.record import Reason
from fivegates.session import (
    MAIN_ROLES,
    SAMPLE_COLUMNS,
    STATE_COLUMNS,
    Sample,
    derive_state,
    parse_samples,
    plan,
)
from fivegates.session import judge as judge_session
from fivegates.timing import (
    Interval,
    derive,
    derive_session,
    judge,
    outcome,
    ratio_interval,
    round_ratios,
)

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
)
TIMES = {"baseline": 5.0, "candidate": 4.0, "again": 5.0}


def samples(times=TIMES, seed=0, noise=0.002, drift=0.0):
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


def to_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SAMPLE_COLUMNS)
    writer.writerows(
        [getattr(row, column) for column in SAMPLE_COLUMNS] for row in rows
    )
    return text.getvalue()


def parsed(text):
    return parse_samples(text, plan(ROUNDS, 1), SAMPLES, LAUNCHES, "samples.csv")


@given(st.integers(8, 40), st.integers(1, 99))
def test_plan_balances_roles_and_alternates_the_order(rounds, session):
    steps = plan(rounds, session)
    main = [step for step in steps if step.comparison == "main"]
    assert [step.round for step in main] == list(range(rounds))
    for step in main:
        a, b = step.blocks[:2]
        assert step.blocks == (a, b, b, a)
        assert {a, b} == set(step.captures) == set(MAIN_ROLES)
        assert a == MAIN_ROLES[step.round % 2]
    assert plan(rounds, session) == steps


def test_order_of_capture_is_drawn_anew_in_each_session():
    drawn = {
        tuple(step.captures for step in plan(16, session)) for session in (1, 2, 3)
    }
    assert len(drawn) == 3


def test_samples_survive_their_file():
    rows = samples()
    assert parsed(to_csv(rows)) == tuple(rows)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: r[:-1], "samples.csv: 239 samples, expected 240"),
        (
            lambda r: r[::-1],
            "samples.csv: row 2: ['floor', '7', '1', 'candidate', '2',",
        ),
        (
            lambda r: [r[0], r[2], r[1], *r[3:]],
            "samples.csv: row 3: ['main', '0', '0',",
        ),
    ],
    ids=["dropped", "reversed", "shuffled"],
)
def test_samples_out_of_plan_are_refused(spoil, message):
    with pytest.raises(ArtifactError) as error:
        parsed(to_csv(spoil(samples())))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("value", ["0.0", "-1.5", "nan", "inf", "", "fast", "1e999"])
def test_duration_must_be_finite_and_positive(value):
    lines = to_csv(samples()).splitlines(keepends=True)
    lines[1] = f"{lines[1].rpartition(',')[0]},{value}\n"
    with pytest.raises(ArtifactError) as error:
        parsed("".join(lines))
    assert str(error.value) == (
        f"samples.csv: row 2: elapsed_us is {value!r}, "
        "expected a positive finite number"
    )


def test_columns_must_be_the_ones_declared():
    with pytest.raises(ArtifactError, match=r"samples.csv: columns are \['sample'\]"):
        parsed("sample\n1\n")


def test_known_ratio_is_found():
    found = derive_session(samples(), POLICY, MARGIN)
    assert found["speedup"]["estimate"] == pytest.approx(1.25, rel=2e-3)
    assert found["speedup"]["lower"] < 1.25 < found["speedup"]["upper"]
    assert (found["outcome"], found["null_outcome"]) == ("faster", "equivalent")
    assert found["baseline"]["median_us"] == pytest.approx(5.0, rel=2e-3)
    assert found["candidate_floor"]["median_us"] == pytest.approx(1.0, rel=2e-3)


def test_linear_drift_over_a_session_does_not_move_the_ratio():
    found = derive_session(samples(noise=1e-6, drift=0.003), POLICY, MARGIN)
    assert found["speedup"]["estimate"] == pytest.approx(1.25, rel=1e-5)


@given(st.floats(0.01, 100.0))
def test_scaling_every_time_leaves_the_ratio(scale):
    scaled = {role: scale * value for role, value in TIMES.items()}
    ours = round_ratios(samples(), "main", MAIN_ROLES)
    theirs = round_ratios(samples(times=scaled), "main", MAIN_ROLES)
    assert np.allclose(ours, theirs, rtol=1e-12)


def test_exchanging_the_arms_inverts_the_ratio():
    rows = samples()
    ours = ratio_interval(round_ratios(rows, "main", MAIN_ROLES), 0.95)
    swapped = ratio_interval(round_ratios(rows, "main", MAIN_ROLES[::-1]), 0.95)
    assert ours.estimate * swapped.estimate == pytest.approx(1)
    assert ours.lower * swapped.upper == pytest.approx(1)


def test_interval_is_students_t_on_log_ratios():
    """t(0.975; 7) = 2.3646 (any table); the log ratios below have a known spread."""
    ratios = np.exp([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    half = 2.364624 * np.std(np.log(ratios), ddof=1) / math.sqrt(8)
    interval = ratio_interval(ratios, 0.95)
    assert math.log(interval.estimate) == pytest.approx(0.45)
    assert math.log(interval.upper) == pytest.approx(0.45 + half, rel=1e-6)


def test_null_comparison_excludes_one_as_often_as_it_says():
    """Equal arms, independent rounds: 5 % of 95 % intervals exclude 1."""
    draw = np.random.default_rng(1)
    misses = 0
    for _ in range(2000):
        interval = ratio_interval(np.exp(draw.normal(0, 0.003, ROUNDS)), 0.95)
        misses += not interval.lower <= 1 <= interval.upper
    assert 0.035 <= misses / 2000 <= 0.065


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (1.011, 1.2, "faster"),
        (1.01, 1.2, "inconclusive"),
        (0.8, 0.98, "slower"),
        (0.8, 1 / 1.01, "inconclusive"),
        (0.995, 1.005, "equivalent"),
        (1.002, 1.006, "equivalent"),
        (1.005, 1.02, "inconclusive"),
        (0.9, 1.1, "inconclusive"),
    ],
)
def test_outcome_is_where_the_whole_interval_lies(lower, upper, expected):
    interval = Interval(estimate=math.sqrt(lower * upper), lower=lower, upper=upper)
    assert outcome(interval, MARGIN) == expected


def sessions(*times):
    return derive(
        [
            derive_session(samples(t, seed), POLICY, MARGIN)
            for seed, t in enumerate(times)
        ]
    )


def test_sessions_that_agree_decide():
    derived = sessions(TIMES, TIMES, TIMES)
    verdict = judge(derived, MARGIN)
    assert (verdict.status, derived["outcome"]) == ("pass", "faster")
    assert derived["speedup_lower"] <= derived["session_speedup_min"]
    assert derived["session_speedup_max"] <= derived["speedup_upper"]


def test_sessions_that_disagree_are_the_finding():
    slower = {**TIMES, "candidate": 6.0}
    verdict = judge(sessions(TIMES, slower, TIMES), MARGIN)
    assert (verdict.status, verdict.reason) == (
        "inconclusive",
        Reason.SESSIONS_DISAGREE,
    )
    assert verdict.message.startswith(
        "sessions say faster, slower, faster; speedup 0.83"
    )


def test_null_that_differs_decides_nothing():
    verdict = judge(sessions(TIMES, {**TIMES, "again": 4.8}, TIMES), MARGIN)
    assert (verdict.status, verdict.reason) == ("inconclusive", Reason.NULL_DIFFERS)
    assert verdict.message == "session 2: baseline against itself is faster"


def test_kernel_against_itself_is_no_improvement():
    same = dict.fromkeys(TIMES, 5.0)
    derived = sessions(same, same, same)
    assert derived["outcome"] == "equivalent"
    assert judge(derived, MARGIN).status == "pass"


def test_interval_on_both_sides_of_the_margin_is_too_wide():
    close = {**TIMES, "candidate": 5.0 / 1.0101}
    verdict = judge(sessions(close, close, close), MARGIN)
    assert (verdict.status, verdict.reason) == (
        "inconclusive",
        Reason.INTERVAL_TOO_WIDE,
    )


STATE = {
    "elapsed_s": "0.01",
    "sm_clock_mhz": "1980",
    "memory_clock_mhz": "3201",
    "temperature_c": "37",
    "power_w": "120.5",
    "pstate": "0",
    "utilization_ratio": "0.5",
    "compute_processes": "1",
    "throttle_reasons": "",
}


def state(**changes):
    rows = [STATE, {**STATE, **changes}]
    lines = [",".join(STATE_COLUMNS)]
    lines += [",".join(row[column] for column in STATE_COLUMNS) for row in rows]
    return "\n".join(lines) + "\n"


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
    with pytest.raises(ArtifactError, match=r"^state.csv: no rows with columns"):
        derive_state(",".join(STATE_COLUMNS) + "\n", "state.csv")


@pytest.mark.parametrize(
    ("measured", "changes", "status", "reason"),
    [
        (session_record(), {}, "pass", Reason.PASSED),
        (
            session_record(failed_elements={"baseline": 0, "candidate": 3}),
            {},
            "fail",
            Reason.TIMED_OUTPUT_WRONG,
        ),
        (
            session_record(expired_blocks=1),
            {},
            "inconclusive",
            Reason.HELD_QUEUE_EXPIRED,
        ),
        (
            session_record(),
            {"throttle_reasons": "sw-power-cap+hw-thermal-slowdown"},
            "inconclusive",
            Reason.THROTTLED,
        ),
        (
            session_record(),
            {"throttle_reasons": "sw-power-cap"},
            "pass",
            Reason.PASSED,
        ),
        (
            session_record(),
            {"compute_processes": "2"},
            "inconclusive",
            Reason.COMPETING_WORK,
        ),
        (session_record(), {"compute_processes": ""}, "pass", Reason.PASSED),
    ],
)
def test_session_that_may_not_be_used_says_why(measured, changes, status, reason):
    verdict = judge_session(measured, derive_state(state(**changes), "state.csv"))
    assert (verdict.status, verdict.reason) == (status, reason)


@pytest.mark.parametrize(
    ("exit_status", "reason"), [(None, Reason.TIMEOUT), (1, Reason.PROCESS_FAILED)]
)
def test_session_that_broke_off_did_not_run(exit_status, reason):
    measured = {
        "exit_status": exit_status,
        "last_words": "out of memory",
        "facts": None,
    }
    verdict = judge_session(measured, None)
    assert (verdict.status, verdict.reason) == ("not-run", reason)
