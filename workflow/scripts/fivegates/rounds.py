"""Samples of a session as paired rounds: who was timed where, and the ratio of each.

Nothing is dropped. The sample behind the poison is counted apart.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivegates.claim import Kind
from fivegates.inference import midmean
from fivegates.plan import Block, Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """Samples of one kind with their blocks, in acquisition order.

    `poisoned` names the sample behind the poison, by (comparison, round, block). It
    finds outputs dirty in the cache, so it is counted apart.
    """

    kind: Kind
    samples: tuple[Sample, ...]
    blocks: tuple[Block, ...]
    poisoned: Mapping[tuple[str, int, int], int]

    def times(self, comparison: str, role: str | None = None) -> list[Sample]:
        """Samples of a comparison without those behind the poison."""
        return [
            sample
            for sample in self.samples
            if sample.comparison == comparison
            and role in (None, sample.role)
            and not self.is_poisoned(sample)
        ]

    def is_poisoned(self, sample: Sample) -> bool:
        """Whether the outputs were poisoned right before."""
        place = (sample.comparison, sample.round, sample.block)
        return self.poisoned.get(place) == sample.sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """A paired comparison, an entry a round.

    Logs of the ratio of times, of the ratio of clocks (None where one was not read), of
    the first half over the second, the mean log time, and who opened: the first role?
    """

    ratio: np.ndarray
    clock_ratio: np.ndarray | None
    halves: np.ndarray
    level: np.ndarray
    first: np.ndarray

    @property
    def time_ratios(self) -> np.ndarray:
        """The ratios themselves."""
        found: np.ndarray = np.exp(self.ratio)
        return found


def compared(timings: Timings, comparison: str, roles: Sequence[str]) -> Rounds:
    """Log time of the first role over the second's, a round.

    Blocks of a role are averaged in the log.
    """
    times = locations(timings, comparison)
    clocks = {
        (block.round, block.block): block.sm_clock_mhz
        for block in timings.blocks
        if block.comparison == comparison
    }
    rounds: dict[int, list[tuple[int, str, float]]] = defaultdict(list)
    for (number, block, role), time in times.items():
        rounds[number].append((block, role, math.log(time)))
    ratio, halves, level, first, clock_ratio = [], [], [], [], []
    for number in sorted(rounds):
        blocks = sorted(rounds[number])
        logs = [log for _, _, log in blocks]
        opening = np.array([role == roles[0] for _, role, _ in blocks])
        ratio.append(_difference(logs, opening))
        middle = len(logs) // 2
        halves.append(np.mean(logs[:middle]) - np.mean(logs[middle:]))
        level.append(np.mean(logs))
        first.append(bool(opening[0]))
        found = [clocks.get((number, block)) for block, _, _ in blocks]
        clock_ratio.append(
            math.nan
            if None in found
            else _difference(np.log(np.array(found, float)), opening)
        )
    known = np.array(clock_ratio)
    return Rounds(
        ratio=np.array(ratio),
        clock_ratio=None if np.isnan(known).any() else known,
        halves=np.array(halves),
        level=np.array(level),
        first=np.array(first),
    )


def _difference(logs: Any, opening: np.ndarray) -> float:
    values = np.asarray(logs)
    return float(values[opening].mean() - values[~opening].mean())


def block_times(
    timings: Timings, comparison: str
) -> dict[tuple[int, int, str], list[float]]:
    """Microseconds a launch of each sample, by (round, block, role)."""
    blocks: dict[tuple[int, int, str], list[float]] = defaultdict(list)
    for sample in timings.times(comparison):
        key = (sample.round, sample.block, sample.role)
        blocks[key].append(sample.elapsed_us / sample.launches)
    return blocks


def locations(timings: Timings, comparison: str) -> dict[tuple[int, int, str], float]:
    """Midmean microseconds a launch, by (round, block, role)."""
    found = block_times(timings, comparison)
    return {key: midmean(times) for key, times in found.items()}


def values(timings: Timings, comparison: str, role: str) -> np.ndarray:
    """Microseconds a launch of every sample of one role."""
    return np.array(
        [s.elapsed_us / s.launches for s in timings.times(comparison, role)]
    )


def spread(timings: Timings, comparison: str, role: str) -> dict[str, float]:
    """Quantiles over samples, linear interpolation at q*(N - 1)."""
    times = values(timings, comparison, role)
    p10, median, p90 = np.quantile(times, [0.1, 0.5, 0.9])
    return {"median_us": float(median), "p10_us": float(p10), "p90_us": float(p90)}
