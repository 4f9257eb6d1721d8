"""What the sessions of a claim say together."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivegates.archive import load_evidence
from fivegates.derivation import Context
from fivegates.derivation import derive as derive_record
from fivegates.errors import ArtifactError
from fivegates.evidence import record_names
from fivegates.inference import allocate
from fivegates.record import Reason
from fivegates.store import Store
from fivegates.timing import METHODS, combined, components, derive, judge
from simulated import BACKEND, Laws, Simulation, builds, record, statistics
from trees import RECEIPTS, V2_SUPPORTED

MARGIN, CONFIDENCE = 0.01, 0.95


@pytest.fixture
def claim(freeze, document, policy):
    """The triad's, with few rounds."""
    policy["timing"]["rounds"] = 8
    return freeze(document)


@pytest.fixture(scope="module")
def one():
    """What sessions are combined from, free to be changed."""
    return {
        "kind": "device/buffer-rotated",
        **{
            role: {"median_us": time}
            for role, time in (
                ("baseline", 5.0),
                ("candidate", 4.4),
                ("baseline_floor", 2.9),
                ("candidate_floor", 1.1),
            )
        },
        "null": {"estimate": 1.0, "lower": 0.999, "upper": 1.001},
        "smallest_effect_ratio": 0.002,
        "state": {"sm_clock_max_mhz": 1980.0},
        "components": {"sample_sd": 0.003, "round_sd": 0.004, "ratio_sd": 0.005},
        "round_speedups": [1.0] * 16,
    }


def said(one, outcome, estimate, half=0.002, **changes):
    interval = {
        "estimate": estimate,
        "lower": estimate * (1 - half),
        "upper": estimate * (1 + half),
    }
    return {**one, "outcome": outcome, "speedup": interval, **changes}


def together(sessions, planned=None):
    found = derive(
        sessions,
        planned=planned or len(sessions),
        margin=MARGIN,
        confidence=CONFIDENCE,
    )
    return found, judge(found, MARGIN)


@pytest.mark.parametrize(
    ("sessions", "status", "reason", "message"),
    [
        (
            [("faster", 1.145), ("faster", 1.146), ("faster", 1.1455)],
            "pass",
            Reason.PASSED,
            "faster in 3 sessions, speedup [1.144, 1.147]",
        ),
        (
            [("slower", 0.9), ("slower", 0.901), ("slower", 0.9005)],
            "pass",
            Reason.PASSED,
            "slower in 3 sessions, speedup [0.8993, 0.9017]",
        ),
        (
            [("equivalent", 1.0), ("equivalent", 1.001), ("equivalent", 1.0005)],
            "pass",
            Reason.PASSED,
            "equivalent in 3 sessions, speedup [0.9993, 1.002]",
        ),
        (
            [("faster", 1.145)],
            "pass",
            Reason.PASSED,
            "faster in 1 session, speedup [1.143, 1.147]",
        ),
        (
            [("faster", 1.145), ("faster", 1.148)],
            "pass",
            Reason.PASSED,
            "faster in 2 sessions, speedup [1.143, 1.15]",
        ),
        (
            [("faster", 1.145), ("slower", 0.83), ("faster", 1.146)],
            "inconclusive",
            Reason.SESSIONS_DISAGREE,
            "sessions say faster, slower, faster; speedup 0.83 to 1.146",
        ),
        (
            [("faster", 1.1), ("inconclusive", 1.01), ("faster", 1.1)],
            "inconclusive",
            Reason.SESSIONS_DISAGREE,
            "sessions say faster, inconclusive, faster; speedup 1.01 to 1.1",
        ),
        (
            [("faster", 1.02), ("faster", 1.2), ("faster", 1.1)],
            "inconclusive",
            Reason.INTERVAL_TOO_WIDE,
            "speedup [0.9022, 1.351] over sessions, or over the planned ones alone, "
            "reaches past the margin 0.01 or the noise of the null comparison",
        ),
        (
            [("inconclusive", 1.0101)] * 2,
            "inconclusive",
            Reason.INTERVAL_TOO_WIDE,
            "speedup [1.008, 1.012] over rounds, or over the planned ones alone, "
            "reaches past the margin 0.01 or the noise of the null comparison",
        ),
        (
            [("inconclusive", 1.02)] * 3,
            "inconclusive",
            Reason.INTERVAL_TOO_WIDE,
            "speedup [1.02, 1.02] over sessions, or over the planned ones alone, "
            "reaches past the margin 0.01 or the noise of the null comparison",
        ),
    ],
)
def test_sessions_together_decide_or_say_why_not(
    one, sessions, status, reason, message
):
    found, verdict = together([said(one, *session) for session in sessions])
    assert (verdict.status, verdict.reason, verdict.message) == (
        status,
        reason,
        message,
    )
    expected = sessions[0][0] if status == "pass" else "inconclusive"
    assert found["outcome"] == expected
    assert found["unit"] == ("sessions" if len(sessions) >= 3 else "rounds")
    assert found["method"] == METHODS[found["unit"]]


def test_extremes_over_sessions_are_kept(one):
    second = said(
        one,
        "faster",
        1.2,
        null={"estimate": 1.0, "lower": 0.99, "upper": 1.0005},
        smallest_effect_ratio=0.009,
        state={"sm_clock_max_mhz": None},
        baseline={"median_us": 7.0},
    )
    found, _ = together([said(one, "faster", 1.1), second])
    assert (found["null_lower"], found["null_upper"]) == (0.99, 1.001)
    assert found["smallest_effect_ratio"] == 0.009
    assert found["sm_clock_max_mhz"] == 1980.0
    assert found["baseline_median_us"] == 6.0
    assert found["session_speedups"] == [1.1, 1.2]
    dark = said(one, "faster", 1.1, state={"sm_clock_max_mhz": None})
    assert together([dark])[0]["sm_clock_max_mhz"] is None


def test_ratio_across_two_kinds_is_an_error(one):
    sessions = [
        said(one, "faster", 1.1),
        said(one, "faster", 1.1, kind="device/same-buffer"),
    ]
    with pytest.raises(ArtifactError) as error:
        together(sessions)
    assert str(error.value) == (
        "a ratio of device/buffer-rotated to device/same-buffer, expected one kind in "
        "all sessions"
    )


@settings(deadline=None)
@given(st.lists(st.floats(0.5, 2.0), min_size=1, max_size=8))
def test_exchanging_the_arms_inverts_the_interval(estimates):
    ours = [said({}, "", value) for value in estimates]
    theirs = [
        {"speedup": {k: 1 / s["speedup"][v] for k, v in
                     (("estimate", "estimate"), ("lower", "upper"), ("upper", "lower"))
                     }}
        for s in ours
    ]  # fmt: skip
    (one, unit), (other, _) = (combined(s, CONFIDENCE) for s in (ours, theirs))
    assert unit == ("sessions" if len(estimates) >= 3 else "rounds")
    assert one.estimate * other.estimate == pytest.approx(1, rel=1e-12)
    assert one.lower * other.upper == pytest.approx(1, rel=1e-9)


OUTCOMES = [
    ("faster", 1.1),
    ("faster", 1.0101),
    ("slower", 0.9),
    ("equivalent", 1.0),
    ("inconclusive", 1.01),
    ("inconclusive", 1.1),
]
some = st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=5)


@settings(deadline=None)
@given(some, some)
def test_added_sessions_make_no_pass_and_turn_no_outcome(one, planned, added):
    """They confirm what the plan decided, or unmake it."""
    first = [said(one, *session) for session in planned]
    more = [said(one, *session) for session in added]
    before, verdict = together(first)
    after, later = together([*first, *more], planned=len(first))
    if verdict.status != "pass":
        assert later.status != "pass"
    if later.status == "pass":
        assert after["outcome"] == before["outcome"]


def test_added_session_confirms_or_breaks_what_the_plan_decided(one):
    planned = [said(one, "faster", 1.1 + k / 1e4) for k in range(3)]
    agreed = together([*planned, said(one, "faster", 1.1)], planned=3)
    assert agreed[1].message == "faster in 4 sessions, speedup [1.1, 1.1]"
    broken = together([*planned, said(one, "equivalent", 1.0)], planned=3)
    assert broken[1].reason == Reason.SESSIONS_DISAGREE
    wide = together([*planned, said(one, "faster", 1.9)], planned=3)
    assert wide[1].reason == Reason.INTERVAL_TOO_WIDE


def test_wide_plan_is_not_narrowed_by_sessions_added_until_it_is(one):
    """No optional stopping: with all of them the interval would be narrow enough."""
    planned = [said(one, "faster", value) for value in (1.02, 1.2, 1.1)]
    added = [said(one, "faster", 1.1 + k / 1e3) for k in range(9)]
    _, verdict = together([*planned, *added], planned=12)
    assert verdict.status == "pass"
    found, verdict = together([*planned, *added], planned=3)
    assert found["outcome"] == "inconclusive"
    assert verdict.reason == Reason.INTERVAL_TOO_WIDE


def test_spread_between_sessions_is_split_by_what_rounds_predict(one):
    same = [said(one, "faster", 1.1)] * 3
    alone = components(same[:1])
    assert (alone["session_seen_sd"], alone["session_sd"]) == (None, None)
    assert alone["session_predicted_sd"] == pytest.approx(0.005 / 4)
    assert components(same)["session_sd"] == 0
    apart = components([said(one, "faster", math.exp(x)) for x in (0.09, 0.1, 0.11)])
    assert apart["session_seen_sd"] == pytest.approx(0.01)
    assert apart["session_sd"] == pytest.approx(math.sqrt(1e-4 - (0.005 / 4) ** 2))


@pytest.mark.parametrize(
    ("sample_sd", "round_sd", "cost", "samples"),
    [(0.01, 0.01, 1, 1), (0.04, 0.01, 1, 4), (0.04, 0.01, 4, 2), (0.01, 0.0, 1, 1)],
)
def test_samples_go_where_the_variance_is(sample_sd, round_sd, cost, samples):
    found = allocate({"sample_sd": sample_sd, "round_sd": round_sd}, cost)
    assert found == samples


@pytest.mark.parametrize("seed", range(3))
def test_simulated_sessions_find_the_ratio(claim, seed):
    found, verdict = together(
        [statistics(claim, Laws(), number, seed) for number in (1, 2, 3)]
    )
    assert verdict.status == "pass"
    assert found["outcome"] == "faster"
    assert found["speedup"]["lower"] < 1.25 * 1.003
    assert found["speedup"]["upper"] > 1.25 / 1.003
    # Two degrees of freedom: the spread seen is within 1/6 and 3 of that predicted.
    parts = found["components"]
    assert 1 / 6 < parts["session_seen_sd"] / parts["session_predicted_sd"] < 3


def test_two_sessions_with_the_same_samples_are_refused(claim):
    simulation = Simulation(claim, Laws())
    first = simulation.record()
    second = record("timing/s02", first.result["measured"], simulation.raw)
    records = {**builds(), "timing/s01": first, "timing/s02": second}
    context = Context(
        claim=claim, backend=BACKEND, records=records, sources={}, raw=lambda *_: ""
    )
    with pytest.raises(ArtifactError) as error:
        derive_record("timing", record("timing", {}, {}), context)
    assert str(error.value) == "timing: two sessions have the same samples.csv"


@pytest.mark.parametrize("missing", record_names("cuda", 3))
def test_nothing_is_concluded_where_a_record_is_missing(missing):
    tree = RECEIPTS / V2_SUPPORTED
    receipt = json.loads((tree / "receipt.json").read_text())
    digests = {item["name"]: item["sha256"] for item in receipt["evidence"]}
    name = f"{receipt['name']}/{missing}.json"
    digests.pop(name)
    with pytest.raises(ArtifactError) as error:
        load_evidence(Store(tree), receipt["name"], digests)
    assert str(error.value) == f"{name}: not in the evidence, expected there"
