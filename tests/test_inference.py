"""Laws of the statistics of gate 3; how often intervals hold is in test_coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivegates.inference import (
    Interval,
    broken_laws,
    mean_of,
    midmean,
    outcome,
    outliers,
    paired,
)

MARGIN = 0.01
logs = st.lists(st.floats(-1, 1), min_size=4, max_size=24)


def interval(lower, upper):
    return Interval(estimate=math.sqrt(lower * upper), lower=lower, upper=upper)


def rounds_opened(draw, size):
    """Half of the rounds, in drawn order."""
    return draw.permutation(np.arange(size) % 2 == 0)


@settings(deadline=None)
@given(logs, st.integers(0, 99))
def test_exchanging_the_arms_inverts_every_interval(values, seed):
    values, first = np.array(values), rounds_opened(np.random.default_rng(seed), 99)
    first = np.resize(first, values.size)
    first[:2] = True, False
    for ours, theirs in (
        (mean_of(values), mean_of(-values)),
        (paired(values, first)[0], paired(-values, ~first)[0]),
    ):
        assert ours.centre == pytest.approx(-theirs.centre, abs=1e-15)
        assert ours.error == pytest.approx(theirs.error, abs=1e-15)
        one, other = ours.interval(0.95), theirs.interval(0.95)
        assert one.lower * other.upper == pytest.approx(1, rel=1e-9)
        assert one.excursion == pytest.approx(other.excursion, rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40), st.floats(1e-3, 1e3))
def test_midmean_scales_with_its_values(values, scale):
    scaled = midmean(np.array(values) * scale)
    assert scaled == pytest.approx(scale * midmean(values), rel=1e-12)
    assert min(values) <= midmean(values) * (1 + 1e-12)


@given(st.integers(3, 40), st.data())
def test_a_quarter_of_outliers_on_either_side_does_not_move_the_midmean(size, data):
    values = np.linspace(1.0, 2.0, size)
    spoiled = values.copy()
    for place in range(data.draw(st.integers(0, (size + 1) // 4))):
        spoiled[place], spoiled[-1 - place] = 1e-9, 1e9
    assert midmean(spoiled) == midmean(values)


def test_midmean_is_not_bound_to_the_steps_of_a_timer():
    """Values of a timer of 0.032 us, as events have: a median would be one of them."""
    steps = 0.032 * np.round(np.random.default_rng(1).normal(5.01, 0.05, 400) / 0.032)
    assert midmean(steps) == pytest.approx(5.01, abs=0.005)
    assert abs(np.median(steps) / 0.032 % 1) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([3.0], 3.0), ([2.0, 4.0], 3.0), ([1.0, 9.0, 2.0], 2.0), ([1, 2, 4, 99], 3.0)],
)
def test_midmean_of_few(values, expected):
    assert midmean(values) == expected


@given(st.integers(3, 30), st.integers(0, 999))
def test_paired_is_least_squares_on_the_order_of_the_round(size, seed):
    """Also where the orders are not balanced."""
    draw = np.random.default_rng(seed)
    values, first = draw.normal(size=size), draw.random(size) < 0.3
    first[:2] = True, False
    design = np.column_stack([np.ones(size), np.where(first, 0.5, -0.5)])
    found, (rest,), _, _ = np.linalg.lstsq(design, values)
    covariance = np.linalg.inv(design.T @ design) * rest / (size - 2)
    for estimate, centre, variance in zip(
        paired(values, first), found, np.diag(covariance), strict=True
    ):
        assert estimate.centre == pytest.approx(centre, abs=1e-12)
        assert estimate.error == pytest.approx(math.sqrt(variance), rel=1e-9)
        assert estimate.freedom == size - 2


@given(st.floats(-1, 1), st.integers(4, 30), st.integers(0, 99))
def test_what_the_order_adds_enters_neither_the_mean_nor_its_error(added, size, seed):
    draw = np.random.default_rng(seed)
    values, first = draw.normal(0, 0.01, size), rounds_opened(draw, size)
    mean, order = paired(values, first)
    signed = values + np.where(first, added / 2, -added / 2)
    moved_mean, moved_order = paired(signed, first)
    assert moved_mean.centre == pytest.approx(mean.centre, abs=1e-12)
    assert moved_mean.error == pytest.approx(mean.error, rel=1e-6)
    assert moved_order.centre == pytest.approx(order.centre + added, abs=1e-12)


def test_interval_is_students_t_on_log_ratios():
    """t(0.975; 7) = 2.364624 (any table)."""
    values = np.arange(1, 9) / 10
    half = 2.364624 * values.std(ddof=1) / math.sqrt(8)
    found = mean_of(values).interval(0.95)
    assert math.log(found.estimate) == pytest.approx(0.45)
    assert math.log(found.upper) == pytest.approx(0.45 + half, rel=1e-6)
    assert math.log(found.lower) == pytest.approx(0.45 - half, rel=1e-6)


@pytest.mark.parametrize("size", [8, 16, 48])
def test_an_effect_called_detectable_is_seen_nine_times_in_ten(size):
    draw, seen, trials = np.random.default_rng(size), 0, 3000
    first = np.arange(size) % 2 == 0
    error = 0.003 / math.sqrt(size)
    for _ in range(trials):
        values = draw.normal(0, 0.003, size)
        known = paired(values, first)[0]
        # Of the true spread: an estimate of it differs from session to session.
        effect = np.log1p(known.detectable(0.95)) * error / known.error
        seen += paired(values + effect, first)[0].interval(0.95).lower > 1
    assert 0.87 <= seen / trials <= 0.93


@pytest.mark.parametrize(
    ("lower", "upper", "noise", "expected"),
    [
        (1.011, 1.2, 0, "faster"),
        (1.01, 1.2, 0, "inconclusive"),
        (1.011, 1.2, 0.012, "inconclusive"),
        (1.013, 1.2, 0.012, "faster"),
        (0.8, 0.98, 0, "slower"),
        (0.8, 1 / 1.01, 0, "inconclusive"),
        (0.8, 0.98, 0.03, "inconclusive"),
        (0.8, 0.97, 0.03, "slower"),
        (0.995, 1.005, 0, "equivalent"),
        (1.002, 1.006, 0, "equivalent"),
        (0.995, 1.005, 0.03, "equivalent"),
        (1.005, 1.02, 0, "inconclusive"),
        (0.9, 1.1, 0, "inconclusive"),
        (1.0, 1.01, 0, "inconclusive"),
    ],
)
def test_outcome_is_where_the_whole_interval_lies(lower, upper, noise, expected):
    assert outcome(interval(lower, upper), MARGIN, noise) == expected


@given(st.floats(0.5, 2), st.floats(1, 1.5), st.floats(1e-4, 0.2), st.floats(0, 0.2))
def test_exchanging_the_arms_exchanges_faster_and_slower(lower, width, margin, noise):
    opposite = {"faster": "slower", "slower": "faster"}
    ours = outcome(interval(lower, lower * width), margin, noise)
    theirs = outcome(interval(1 / (lower * width), 1 / lower), margin, noise)
    near = {1.0, 1 + margin, 1 + max(margin, noise)}
    edges = {abs(math.log(e * s)) for e in near for s in (lower, lower * width)}
    edges |= {abs(math.log(e / s)) for e in near for s in (lower, lower * width)}
    if min(edges) > 1e-9:
        assert theirs == opposite.get(ours, ours)


@given(st.lists(st.floats(0.1, 10), min_size=4, max_size=60))
def test_every_outlier_is_in_one_class_of_tukeys_and_none_is_dropped(values):
    values = np.array(values)
    low, high = np.quantile(values, [0.25, 0.75])
    mild = 1.5 * (high - low)
    beyond = np.count_nonzero((low - values > mild) | (values - high > mild))
    counts = outliers(values)
    assert sum(counts.values()) == beyond
    assert min(counts.values()) >= 0


def test_outliers_are_told_by_side_and_distance():
    values = np.array([*np.linspace(9, 11, 21), 14.0, 30.0, 7.0])
    assert outliers(values) == {
        "low_mild": 1,
        "low_severe": 0,
        "high_mild": 1,
        "high_severe": 1,
    }


def planted(law, draw, size):
    noise = draw.normal(0, 1, size)
    if law == "trend":
        return noise + 12 * np.arange(size) / size
    if law == "two-modes":
        return noise / 20 + draw.permutation(np.arange(size) % 2)
    noise[draw.integers(size)] = 40
    return noise


@pytest.mark.parametrize("size", [8, 16, 48])
@pytest.mark.parametrize("law", ["trend", "two-modes", "heavy-tails"])
def test_planted_fault_of_a_law_is_named(law, size):
    draw = np.random.default_rng(size)
    found = [broken_laws(planted(law, draw, size)) for _ in range(200)]
    assert sum(law in names for names in found) >= 190
    if law != "trend":
        assert all(len(names) <= 1 for names in found if law in names)


@pytest.mark.parametrize("size", [8, 12, 16, 24, 48])
def test_normal_rounds_seldom_seem_to_break_a_law(size):
    draw = np.random.default_rng(size)
    found = [broken_laws(draw.normal(size=size)) for _ in range(2000)]
    assert sum(map(bool, found)) <= 0.08 * 2000
    for law in ("trend", "two-modes", "heavy-tails"):
        assert sum(law in names for names in found) <= 0.045 * 2000


@pytest.mark.parametrize("values", [[0.1, 9.0, 0.1, 9.0], [0.3] * 20, []])
def test_too_few_rounds_and_equal_ones_show_nothing(values):
    assert broken_laws(np.array(values)) == []
