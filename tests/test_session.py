"""What one session's samples say; whether they are used is in test_session_verdict."""

import math

import pytest

from simulated import (
    DENSE,
    QUIET,
    Laws,
    bimodal,
    normal,
    statistics,
)


@pytest.fixture
def claim(freeze, document, policy):
    """The triad's, with few rounds."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}
    return freeze(document)


def test_known_ratio_is_found(good):
    _, found, verdict = good
    said = found["statistics"]
    assert said["speedup"]["estimate"] == pytest.approx(1.25, rel=2e-3)
    assert said["speedup"]["lower"] < 1.25 < said["speedup"]["upper"]
    assert (said["outcome"], said["null_outcome"]) == ("faster", "equivalent")
    for field, expected in {
        "baseline": 10.0,
        "candidate": 8.0,
        "candidate_floor": 2.0,
        "bare_floor": 0.5,
        "baseline_single": 10.0,
    }.items():
        assert said[field]["median_us"] == pytest.approx(expected, rel=5e-3)
    assert said["control_ratio"] == pytest.approx(2, abs=0.02)
    assert (said["kind"], said["warm"]) == ("device/buffer-rotated", True)
    assert (verdict.status, verdict.message) == (
        "pass",
        "1920 outputs checked after timing, none wrong",
    )


@pytest.mark.parametrize("seed", range(4))
def test_kernel_against_itself_is_no_improvement(claim, seed):
    said = statistics(claim, Laws(candidate=10.0), seed=seed)
    assert said["outcome"] == "equivalent"


def test_linear_drift_does_not_move_the_ratio(claim):
    said = statistics(claim, Laws(drift=1e-4, **QUIET))
    assert said["speedup"]["estimate"] == pytest.approx(1.25, rel=1e-6)
    assert said["drift_ratio"] > 1.01


@pytest.mark.parametrize("law", ["slot", "half", "order"])
def test_what_a_place_in_the_round_adds_does_not_move_the_ratio(claim, law):
    plain, moved = (
        statistics(claim, Laws(**QUIET, **{law: size})) for size in (0.0, 0.008)
    )
    field, effect = {
        "slot": ("order_effect", 1.008),
        "half": ("half_effect", 1.008),
        "order": ("order_effect", 1.008),
    }[law]
    added = math.exp(0.004) if law == "order" else 1.0
    for end in ("estimate", "lower", "upper"):
        assert moved["speedup"][end] == pytest.approx(
            added * plain["speedup"][end], rel=1e-5
        )
    assert moved[field]["estimate"] == pytest.approx(effect, rel=1e-3)


def test_sample_behind_the_poison_is_counted_apart(claim):
    poison = {"baseline": 3.0, "candidate": 3.0}
    plain, slowed = (statistics(claim, Laws(**QUIET, poison=p)) for p in ({}, poison))
    for field in ("speedup", "null", "baseline", "candidate", "components"):
        assert slowed[field] == pytest.approx(plain[field], rel=1e-3, abs=1e-6)
    for arm, factor in poison.items():
        assert slowed["poisoned"][arm]["estimate"] == pytest.approx(factor, rel=1e-4)


@pytest.mark.parametrize("samples", [4, 5, 8])
def test_outliers_are_counted_and_do_not_move_the_ratio(
    freeze, document, policy, samples
):
    """The first sample of every block of one round took e times as long."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}
    policy["timing"]["samples"] = samples
    plain, spoiled = (
        statistics(freeze(document), Laws(first=size)) for size in (0.0, 1.0)
    )
    for arm in ("baseline", "candidate"):
        before, after = (s["outliers"][arm]["high_severe"] for s in (plain, spoiled))
        assert 1 <= after - before <= 2
    assert spoiled["speedup"]["estimate"] == pytest.approx(
        plain["speedup"]["estimate"], rel=5e-4
    )


def now_and_then(source):
    return 40 if source.random() < 0.1 else normal(source)


@pytest.mark.parametrize(
    ("effect", "law"), [(bimodal, "two-modes"), (now_and_then, "heavy-tails")]
)
def test_broken_law_of_the_rounds_is_in_the_record(claim, effect, law):
    laws = Laws(round_sd=0.004, sample_sd=1e-5, effect=effect)
    found = [statistics(claim, laws, seed=seed)["broken_laws"] for seed in range(8)]
    assert sum(law in names for names in found) >= 5


def test_ratio_is_told_in_cycles_where_clocks_were_read(claim):
    """The candidate ran at a tenth more clock: a quarter of its win is clock."""
    said = statistics(claim, Laws(clocks={"candidate": 2178.0}, **QUIET))["cycles"]
    assert said["clock_ratio"]["estimate"] == pytest.approx(1 / 1.1)
    assert said["speedup"]["estimate"] == pytest.approx(1.25 / 1.1, rel=1e-5)
    assert statistics(claim, Laws(clocks={"candidate": None}))["cycles"] is None


def test_spread_is_told_apart_by_where_it_comes_from(claim):
    samples = statistics(claim, Laws(sample_sd=0.01, round_sd=1e-6))["components"]
    rounds = statistics(claim, Laws(sample_sd=1e-6, round_sd=0.01))["components"]
    assert samples["sample_sd"] == pytest.approx(0.01, rel=0.2)
    assert samples["round_sd"] < 0.006
    assert rounds["sample_sd"] == pytest.approx(1e-6, rel=0.2)
    assert rounds["round_sd"] == pytest.approx(0.01, rel=0.5)
