"""Statistics of paired timings: locations, ratios, intervals, and what breaks them.

Unit of resampling: the round inside a session, the session across sessions. Ratios are
compared as logarithms, so exchanging the arms inverts a ratio and its interval exactly.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Outcome = Literal["faster", "slower", "equivalent", "inconclusive"]

# Power with which an effect must be seen to be called detectable.
POWER = 0.9
# Tukey, Exploratory Data Analysis (1977): fences at 1.5 and 3 interquartile ranges.
MILD, SEVERE = 1.5, 3.0
# A residual this many median absolute deviations out is no draw from a normal law.
HEAVY_TAIL = 8.0
TREND_P = 0.001
FEWEST_FOR_LAWS = 8
# Two modes: a cut with a quarter on either side explains this share of the variance.
# A normal law cut in its middle gives 0.64; few rounds scatter around that.
MODE_SHARE, MODE_EXPLAINED, MODE_EXPLAINED_BY_FEW, MANY_ROUNDS = 0.25, 0.85, 0.93, 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A ratio and its confidence interval."""

    estimate: float
    lower: float
    upper: float

    @property
    def excursion(self) -> float:
        """How far the interval reaches from 1, as a ratio above 1 less 1."""
        return max(self.upper, 1 / self.lower) - 1

    def excludes_one(self) -> bool:
        """Whether 1 lies outside."""
        return not self.lower <= 1 <= self.upper


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """Mean of log ratios, its standard error, and the degrees of freedom behind it."""

    centre: float
    error: float
    freedom: int

    def interval(self, confidence: float) -> Interval:
        """Student's t interval, as a ratio."""
        half = _student((1 + confidence) / 2, self.freedom) * self.error
        return Interval(
            estimate=math.exp(self.centre),
            lower=math.exp(self.centre - half),
            upper=math.exp(self.centre + half),
        )

    def detectable(self, confidence: float) -> float:
        """Smallest ratio above 1, less 1, that is told from 1 with power 0.9."""
        quantiles = _student((1 + confidence) / 2, self.freedom)
        quantiles += _student(POWER, self.freedom)
        return math.expm1(quantiles * self.error)


def midmean(values: Sequence[float] | np.ndarray) -> float:
    """Mean of the middle half; of three values the middle one.

    Nearly as deaf to outliers as a median, but not bound to the steps of a timer.
    """
    ordered = np.sort(np.asarray(values, float))
    cut = (ordered.size + 1) // 4
    return float(ordered[cut : ordered.size - cut].mean())


def mean_of(logs: Sequence[float] | np.ndarray) -> Estimate:
    """Mean of independent log ratios, at least two."""
    values = np.asarray(logs, float)
    return Estimate(
        centre=float(values.mean()),
        error=float(values.std(ddof=1)) / math.sqrt(values.size),
        freedom=values.size - 1,
    )


def paired(logs: np.ndarray, first: np.ndarray) -> tuple[Estimate, Estimate]:
    """Mean log ratio of rounds, and the effect of their order; at least three rounds.

    `first` is true where the first role opened the round (ABBA) and false where the
    second did (BAAB). Least squares on that one indicator: what the order adds to a
    round enters neither the mean nor its error. The second estimate is the log ratio of
    rounds opened by the first role over the others.
    """
    groups = [logs[first], logs[~first]]
    freedom = logs.size - 2
    rest = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    spread = sum(1 / group.size for group in groups)
    error = math.sqrt(rest / freedom * spread)
    means = [float(group.mean()) for group in groups]
    mean = Estimate(centre=sum(means) / 2, error=error / 2, freedom=freedom)
    return mean, Estimate(centre=means[0] - means[1], error=error, freedom=freedom)


def residuals(logs: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Log ratios less the median of those in the same order."""
    middles = np.where(first, np.median(logs[first]), np.median(logs[~first]))
    found: np.ndarray = logs - middles
    return found


def outcome(interval: Interval, margin: float, noise: float = 0.0) -> Outcome:
    """Where the whole interval lies against the margin of practical equivalence.

    A difference must also exceed `noise`, what identical kernels showed.
    """
    edge = 1 + max(margin, noise)
    if interval.lower > edge:
        return "faster"
    if interval.upper < 1 / edge:
        return "slower"
    if interval.lower > 1 / (1 + margin) and interval.upper < 1 + margin:
        return "equivalent"
    return "inconclusive"


def outliers(values: np.ndarray) -> dict[str, int]:
    """How many samples lie beyond Tukey's fences; they are counted, never dropped."""
    low, high = np.quantile(values, [0.25, 0.75])
    spread = high - low
    beyond = {"mild": MILD * spread, "severe": SEVERE * spread}
    counts = {
        f"{side}_{name}": int(np.count_nonzero(outside > fence))
        for side, outside in (("low", low - values), ("high", values - high))
        for name, fence in beyond.items()
    }
    for side in ("low", "high"):
        counts[f"{side}_mild"] -= counts[f"{side}_severe"]
    return counts


def broken_laws(logs: np.ndarray) -> list[str]:
    """Which assumptions of the interval these log ratios of rounds contradict.

    `trend`: they grow or fall with their number (correlation, p < 0.001). `two-modes`
    and `heavy-tails` by the best cut in two and by distance from the median. Fewer than
    eight show nothing.
    """
    if logs.size < FEWEST_FOR_LAWS or np.ptp(logs) == 0:
        return []
    found = ["trend"] if _trends(logs) else []
    if _two_modes(np.sort(logs)):
        found.append("two-modes")
    distance = np.abs(logs - np.median(logs))
    scale = float(np.median(distance))
    if scale > 0 and distance.max() > HEAVY_TAIL * scale and "two-modes" not in found:
        found.append("heavy-tails")
    return found


def allocate(components: Mapping[str, float], sample_cost: float) -> int:
    """Samples a block that give the narrowest interval for a given time.

    `sample_cost` is the time of one sample over that of making a block: loads,
    captures, checks. Cochran, Sampling Techniques (1977), 10.6: the ratio of the
    standard deviations by the root of the ratio of the costs.
    """
    if not components["round_sd"]:
        return 1
    ratio = components["sample_sd"] / components["round_sd"]
    return max(1, round(ratio / math.sqrt(sample_cost)))


def _trends(logs: np.ndarray) -> bool:
    freedom = logs.size - 2
    correlation = float(np.corrcoef(np.arange(logs.size), logs)[0, 1])
    limit = _student(1 - TREND_P / 2, freedom)
    return abs(correlation) > limit / math.sqrt(freedom + limit**2)


def _two_modes(ordered: np.ndarray) -> bool:
    """Whether the best cut in two, a quarter on either side, explains the spread."""
    least = math.ceil(MODE_SHARE * ordered.size)
    total = float(((ordered - ordered.mean()) ** 2).sum())
    inner = min(
        float(sum(((part - part.mean()) ** 2).sum() for part in np.split(ordered, [k])))
        for k in range(least, ordered.size - least + 1)
    )
    limit = MODE_EXPLAINED if ordered.size >= MANY_ROUNDS else MODE_EXPLAINED_BY_FEW
    return inner < (1 - limit) * total


def _student(probability: float, freedom: int) -> float:
    """Quantile of Student's t. SciPy takes a third of a second to import."""
    from scipy import special

    return float(special.stdtrit(freedom, probability))
