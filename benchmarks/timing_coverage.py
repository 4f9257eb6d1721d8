"""How often does the 95 % interval hold the truth, under laws that are not normal?

Writes the table that `tests/test_coverage.py` compares with its own draws:

    python benchmarks/timing_coverage.py
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fivegates.inference import Estimate, broken_laws

OUTPUT = Path(__file__).parent / "results/timing_coverage.json"
TRIALS, NAMED_TRIALS, SEED = 40_000, 2_000, 20261130
CONFIDENCE = 0.95
TRUTH = 0.05
NUMBERS = tuple(range(3, 13))
# `broken_laws` is asked where a session has rounds enough to show what they obey.
NAMED_NUMBERS = (8, 12, 24, 48)
ROUNDS_OF_A_SESSION = 8
LAWS = (
    "normal",
    "drift",
    "first-block-slow",
    "second-half-slow",
    "heavy-tails",
    "two-modes",
)
# Standard deviations of a block's log time, of a round's and of a session's log ratio.
BLOCK_SD, ROUND_SD, SESSION_SD = 0.0003, 0.003, 0.003
# Log time: grown from block to block; added to a slow block, give or take 0.3 of it.
DRIFT, SLOW, SLOW_SPREAD = 0.002, 0.01, 0.3
TAIL_FREEDOM, MODE_SPREAD = 3, 0.1


def effects(draw: np.random.Generator, law: str, shape: tuple[int, ...]) -> np.ndarray:
    """What is drawn when things are made anew, in units of its standard deviation."""
    if law == "heavy-tails":
        return draw.standard_t(TAIL_FREEDOM, shape) / np.sqrt(3)
    if law == "two-modes":
        return draw.choice([-1.0, 1.0], shape) + MODE_SPREAD * draw.normal(size=shape)
    return draw.normal(size=shape)


def orders(draw: np.random.Generator, trials: int, rounds: int) -> np.ndarray:
    """Who opens each round: half ABBA, half BAAB, as `plan.draw` shuffles them."""
    places = draw.random((trials, rounds)).argsort(axis=1)
    return places % 2 == 0


def round_logs(
    draw: np.random.Generator, law: str, first: np.ndarray, truth: float
) -> np.ndarray:
    """Log ratios of rounds, from the log times of their four blocks."""
    shape = (*first.shape, 4)
    times = BLOCK_SD * draw.normal(size=shape)
    if law == "drift":
        times += DRIFT * np.arange(4 * first.shape[1]).reshape(shape[1:])
    slow = {"first-block-slow": [0], "second-half-slow": [2, 3]}.get(law, [])
    for block in slow:
        times[..., block] += SLOW * (1 + SLOW_SPREAD * draw.normal(size=first.shape))
    outer = times[..., [0, 3]].mean(axis=-1) - times[..., [1, 2]].mean(axis=-1)
    ratio = ROUND_SD * effects(draw, law, first.shape) + truth
    return np.where(first, outer, -outer) + ratio


def paired(logs: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """`inference.paired` for many experiments at once: centres, errors, freedom."""
    rest, spread, means = 0.0, 0.0, []
    for group in (first, ~first):
        count = group.sum(axis=1)
        mean = (logs * group).sum(axis=1) / count
        rest = rest + (group * (logs - mean[:, None]) ** 2).sum(axis=1)
        spread = spread + 1 / count
        means.append(mean)
    freedom = logs.shape[1] - 2
    return sum(means) / 2, np.sqrt(rest / freedom * spread) / 2, freedom


def of_rounds(
    draw: np.random.Generator, law: str, trials: int, rounds: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Estimates of one session each."""
    first = orders(draw, trials, rounds)
    return paired(round_logs(draw, law, first, TRUTH), first)


def of_sessions(
    draw: np.random.Generator, law: str, trials: int, sessions: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Estimates over sessions, whose own effects obey the law too."""
    centres, _, _ = of_rounds(draw, law, trials * sessions, ROUNDS_OF_A_SESSION)
    logs = centres.reshape(trials, sessions)
    logs = logs + SESSION_SD * effects(draw, law, logs.shape)
    error = logs.std(axis=1, ddof=1) / np.sqrt(sessions)
    return logs.mean(axis=1), error, sessions - 1


UNITS = {"rounds": of_rounds, "sessions": of_sessions}


def covers(centres: np.ndarray, errors: np.ndarray, freedom: int) -> float:
    """Share of the intervals that hold the truth."""
    one = Estimate(centre=0.0, error=1.0, freedom=freedom).interval(CONFIDENCE)
    return float(np.mean(np.abs(centres - TRUTH) <= np.log(one.upper) * errors))


def coverage(trials: int, seed: int) -> Iterator[dict[str, Any]]:
    """One row a unit of resampling, law and number of units."""
    for unit, estimate in UNITS.items():
        for law in LAWS:
            draw = np.random.default_rng([seed, len(unit), LAWS.index(law)])
            for number in NUMBERS:
                share = covers(*estimate(draw, law, trials, number))
                yield {"unit": unit, "law": law, "number": number, "share": share}


def named(trials: int, seed: int) -> Iterator[dict[str, Any]]:
    """In which share of sessions `broken_laws` says what."""
    for law in LAWS:
        draw = np.random.default_rng([seed, LAWS.index(law)])
        for number in NAMED_NUMBERS:
            logs = round_logs(draw, law, orders(draw, trials, number), TRUTH)
            found = [name for row in logs for name in broken_laws(row)]
            shares = {
                name: found.count(name) / trials
                for name in ("trend", "two-modes", "heavy-tails")
            }
            yield {"law": law, "number": number, "shares": shares}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args(argv)
    found = {
        "confidence": CONFIDENCE,
        "numpy": np.__version__,
        "seed": SEED,
        "trials": TRIALS,
        "named_trials": NAMED_TRIALS,
        "coverage": list(coverage(TRIALS, SEED)),
        "named": list(named(NAMED_TRIALS, SEED)),
    }
    args.output.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    for row in found["coverage"]:
        print(f"{row['unit']:9}{row['law']:18}{row['number']:3}{row['share']:8.4f}")
    for row in found["named"]:
        print(f"{row['law']:18}{row['number']:3}  {row['shares']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
