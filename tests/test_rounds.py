"""Laws of the ratio of paired rounds; what a session makes of it is in test_session."""

from dataclasses import replace

import numpy as np
import pytest

from fivegates.claim import Kind
from fivegates.inference import midmean
from fivegates.plan import ROLES_OF, Block, Sample, poisoned_samples
from fivegates.rounds import Timings, compared, locations, spread
from simulated import DENSE, Laws, Simulation

ROTATED = Kind(boundary="device", cache_regime="buffer-rotated")


@pytest.fixture
def claim(freeze, document, policy):
    """The triad's, with few rounds."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}
    return freeze(document)


def timings(claim, laws=None):
    """Samples of a session before anything is derived from them."""
    simulation = Simulation(claim, laws or Laws())
    samples = (
        dict(zip(Sample.__slots__, row, strict=True)) for row in simulation.samples
    )
    blocks = (dict(zip(Block.__slots__, row, strict=True)) for row in simulation.blocks)
    return Timings(
        kind=ROTATED,
        samples=tuple(Sample(**fields) for fields in samples),
        blocks=tuple(Block(**fields) for fields in blocks),
        poisoned=poisoned_samples(simulation.rounds),
    )


@pytest.mark.parametrize("scale", [0.01, 3.7, 100.0])
def test_scaling_every_time_leaves_the_ratio(claim, scale):
    ours = timings(claim)
    scaled = (replace(s, elapsed_us=scale * s.elapsed_us) for s in ours.samples)
    theirs = replace(ours, samples=tuple(scaled))
    one, other = (compared(t, "main", ROLES_OF["main"]) for t in (ours, theirs))
    assert np.allclose(one.time_ratios, other.time_ratios, rtol=1e-12)


def test_exchanging_the_arms_inverts_the_ratio_and_the_clocks(claim):
    ours = timings(claim, Laws(clocks={"candidate": 1900.0}))
    one, other = (compared(ours, "main", ROLES_OF["main"][::s]) for s in (1, -1))
    assert np.allclose(one.ratio, -other.ratio, rtol=0, atol=1e-15)
    assert np.allclose(one.clock_ratio, -other.clock_ratio, rtol=0, atol=1e-15)
    assert (one.first == ~other.first).all()


def test_ratio_is_of_the_midmeans_of_blocks_averaged_in_the_log(claim):
    ours = timings(claim)
    blocks = {
        block: midmean([s.elapsed_us / s.launches for s in ours.times("main")
                        if (s.round, s.block) == (3, block)])
        for block in range(4)
    }  # fmt: skip
    found = {(n, b): time for (n, b, _), time in locations(ours, "main").items()}
    assert {block: found[3, block] for block in range(4)} == blocks
    rounds = compared(ours, "main", ROLES_OF["main"])
    outer = np.sqrt(blocks[0] * blocks[3]) / np.sqrt(blocks[1] * blocks[2])
    expected = outer if rounds.first[3] else 1 / outer
    assert rounds.time_ratios[3] == pytest.approx(expected, rel=1e-12)


def test_samples_behind_the_poison_are_the_planned_ones(claim):
    ours = timings(claim, Laws(poison={"baseline": 9.0, "candidate": 9.0}))
    slow = [s for s in ours.samples if s.comparison == "main" and s.elapsed_us > 1e3]
    assert len(slow) == 4 * 16
    assert all(map(ours.is_poisoned, slow))
    assert not any(map(ours.is_poisoned, ours.times("main")))
    assert spread(ours, "main", "baseline")["p90_us"] < 11


def test_quantiles_are_of_samples_a_launch(claim):
    ours = timings(claim)
    values = [s.elapsed_us / s.launches for s in ours.times("single", "candidate")]
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    assert spread(ours, "single", "candidate") == {
        "median_us": middle,
        "p10_us": low,
        "p90_us": high,
    }


def test_clock_that_was_not_read_in_a_block_leaves_no_ratio_of_clocks(claim):
    ours = timings(claim)
    lost = next(k for k, b in enumerate(ours.blocks) if b.comparison == "main")
    blocks = [*ours.blocks]
    blocks[lost] = replace(blocks[lost], sm_clock_mhz=None)
    assert compared(ours, "main", ROLES_OF["main"]).clock_ratio is not None
    without = replace(ours, blocks=tuple(blocks))
    assert compared(without, "main", ROLES_OF["main"]).clock_ratio is None
