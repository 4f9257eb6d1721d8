"""When an arm is warm, what fills a graph, and what of a trace is refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.claim import FIRST_VERSION_TIMING, TimingPolicy
from fivegates.errors import ArtifactError
from fivegates.record import Reason
from fivegates.warmup import (
    TRACE_COLUMNS,
    WINDOW,
    TraceRow,
    is_stable,
    launches_per_graph,
    parse_trace,
)
from simulated import Laws, Simulation, derived, to_csv, trace_csv

ROLES = ("baseline", "candidate")


@pytest.fixture
def timing(claim):
    """20 launches and 0.1 s at least, then halves within 1 %."""
    return replace(claim.policy.timing, graph_us=200.0)


def trace(steps=WINDOW, time=lambda _: 5.0, clock=lambda _: 1980.0, step_s=0.01, **row):
    """Steps of both roles, one launch each unless told otherwise."""
    fields = {"launches": 2, **row}
    return [
        TraceRow(
            step=k,
            role=role,
            elapsed_us=time(k),
            sm_clock_mhz=clock(k),
            end_s=step_s * k,
            **fields,
        )
        for k in range(steps)
        for role in ROLES
    ]


def decaying(launch):
    """corpus D05: from 1.3 to 1.0 over the first 60 launches."""
    return 5.0 * (1.3 - 0.3 * min(launch, 60) / 60)


def first_stable(rows, policy):
    """Steps after which a session would stop warming up."""
    return next(
        (k // 2 for k in range(0, len(rows) + 1, 2) if is_stable(rows[:k], policy)),
        None,
    )


def test_decaying_latency_keeps_it_warming_until_it_rests(timing):
    """One launch a step, so that the window is no longer than the decay."""
    steps = first_stable(trace(120, decaying, launches=1), timing)
    assert 60 < steps <= 60 + WINDOW
    assert decaying(steps - WINDOW // 2) <= 1.01 * decaying(60)


def test_short_warm_up_is_not_stable_in_the_decay(timing):
    assert not any(
        is_stable(trace(steps, decaying, launches=1), timing)
        for steps in range(1, 60, 3)
    )


def test_ramping_clock_keeps_it_warming(timing):
    """The latency of a kernel bound by memory does not tell."""
    rows = trace(80, clock=lambda step: min(1980.0, 1200.0 + 20 * step))
    assert 39 < first_stable(rows, timing) <= 39 + WINDOW
    assert first_stable(trace(80), timing) == WINDOW


def test_clock_that_is_not_reported_is_not_waited_for(timing):
    assert is_stable(trace(clock=lambda _: None), timing)
    assert is_stable(trace(clock=lambda k: 1200.0 + 50 * k if k else None), timing)


def test_both_arms_must_rest(timing):
    rows = trace(40)
    ramping = [
        replace(row, elapsed_us=5.0 + row.step / 5) if row.role == ROLES[1] else row
        for row in rows
    ]
    assert is_stable(rows, timing)
    assert not is_stable(ramping, timing)
    assert not is_stable([row for row in rows if row.role == ROLES[0]], timing)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "nothing was launched"),
        (trace(WINDOW - 1), "fewer steps than are compared"),
        (trace(step_s=0.006), "less than 0.1 s"),
        (trace(launches=1), "less than 20 launches"),
        (trace(time=lambda k: 5.0 if k < 8 else 5.06), "latency grew by 1.2 %"),
        (trace(time=lambda k: 5.06 if k < 8 else 5.0), "latency fell by 1.2 %"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_yet_warm(timing, rows, why):
    assert not is_stable(rows, timing), why


def test_step_within_the_tolerance_is_rest_and_one_outlier_is_no_trend(timing):
    assert is_stable(trace(time=lambda k: 5.0 if k < 8 else 5.04), timing)
    assert is_stable(trace(time=lambda k: 50.0 if k == 12 else 5.0), timing)


@pytest.mark.parametrize("field", ["ramp", "clock"])
def test_session_that_never_came_to_rest_is_inconclusive(freeze, document, field):
    laws = Laws(ramp=lambda step: 1.02**step) if field == "ramp" else Laws()
    simulation = Simulation(freeze(document), laws)
    raw = {}
    if field == "clock":
        lines = simulation.raw["warmup.csv"].splitlines()
        cells = [line.split(",") for line in lines[1:]]
        rows = [[*row[:4], 900 + 25 * int(row[0]), row[5]] for row in cells]
        raw = {"warmup.csv": to_csv(TRACE_COLUMNS, rows)}
    found, verdict = derived(simulation, raw)
    assert found["statistics"]["warm"] is False
    assert (verdict.status, verdict.reason, verdict.message) == (
        "inconclusive",
        Reason.NOT_STATIONARY,
        "latency or SM clock had not come to rest when the warm-up was cut off",
    )


@given(
    st.floats(0.1, 5000.0),
    st.integers(1, 256),
    st.floats(10.0, 1000.0),
    st.integers(WINDOW, 40),
)
def test_graph_is_the_fewest_whole_rotations_that_fill_it(us, slots, graph_us, steps):
    policy = TimingPolicy(
        sessions=1,
        rounds=8,
        samples=4,
        graph_us=graph_us,
        warmup_launches=20,
        warmup_s=0,
        confidence=0.95,
        confirm_after_s=3600,
        timeout_s=1,
        **FIRST_VERSION_TIMING,
    )
    launches = launches_per_graph(trace(steps, lambda _: us), slots, policy)
    assert launches % slots == 0
    assert launches >= slots
    assert launches * us >= graph_us * (1 - 1e-12)
    fewer = launches - slots
    assert fewer == 0 or fewer * us < graph_us


def test_graph_is_chosen_by_the_last_steps_of_the_baseline(timing):
    """The median of eight of them; what was before, and the candidate, do not count."""
    early = trace(40, lambda k: 50.0 if k < 32 else 5.0)
    rows = [
        replace(row, elapsed_us=1.0) if row.role == ROLES[1] else row for row in early
    ]
    assert launches_per_graph(rows, 12, timing) == 48
    assert launches_per_graph(trace(3, lambda _: 5.0), 12, timing) == 48


def test_trace_is_read_as_it_was_written():
    rows = parse_trace(trace_csv(Laws(), clock=""), "warmup.csv")
    assert len(rows) == 80
    assert rows[3] == TraceRow(
        step=1,
        role="candidate",
        launches=48,
        elapsed_us=8.0,
        sm_clock_mhz=None,
        end_s=0.02,
    )


RIGHT = ["0", "baseline", "48", "5.0", "1980.0", "0.01"]
NOT_A_STEP = "expected a step of the trace"
POSITIVE = "expected a positive finite number"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, "x", f"invalid literal for int() with base 10: 'x', {NOT_A_STEP}"),
        (2, "4.5", f"invalid literal for int() with base 10: '4.5', {NOT_A_STEP}"),
        (3, "", f"could not convert string to float: '', {NOT_A_STEP}"),
        (3, "nan", f"elapsed_us is 'nan', {POSITIVE}"),
        (3, "inf", f"elapsed_us is 'inf', {POSITIVE}"),
        (3, "0", f"elapsed_us is '0', {POSITIVE}"),
        (3, "-5.0", f"elapsed_us is '-5.0', {POSITIVE}"),
        (4, "nan", f"sm_clock_mhz is 'nan', {POSITIVE}"),
        (4, "-1.0", f"sm_clock_mhz is '-1.0', {POSITIVE}"),
        (5, "nan", "end_s is 'nan', expected a non-negative finite number"),
        (4, "[N/A]", f"could not convert string to float: '[N/A]', {NOT_A_STEP}"),
    ],
)
def test_row_that_is_no_step_is_refused(column, value, message):
    row = [*RIGHT]
    row[column] = value
    with pytest.raises(ArtifactError) as error:
        parse_trace(to_csv(TRACE_COLUMNS, [RIGHT, row]), "warmup.csv")
    assert str(error.value) == f"warmup.csv: row 3: {message}"


def test_trace_of_other_columns_is_refused():
    with pytest.raises(ArtifactError) as error:
        parse_trace(to_csv(TRACE_COLUMNS[1:], []), "warmup.csv")
    assert str(error.value) == (
        f"warmup.csv: columns are {list(TRACE_COLUMNS[1:])}, expected {TRACE_COLUMNS}"
    )
