"""The shape of a failure in words: where in the output it lies, and at which sizes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

SIZES_NAMED = 6


def places(output: Mapping[str, Any]) -> str:
    """Where the failures of one output lie, if they follow a pattern, else nothing."""
    stride, failures = output.get("stride"), output["failures"]
    if not stride or failures == output["elements"]:
        return ""
    first, last = output["first_failure"], output["last_failure"]
    if (last - first) // stride + 1 != failures:
        return ""
    if stride > 1:
        return f"; they are every {_ordinal(stride)} element up to {last}"
    if last == output["elements"] - 1:
        return f"; they are the last {failures}"
    return f"; they are all from {first} to {last}"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def right_and_wrong(cases: Sequence[Mapping[str, Any]]) -> str:
    """Sizes with a wrong case and sizes without, where there are both."""
    bad, good = _parted(cases, lambda case: _sizes(case["sizes"]))
    if not (bad and good):
        return ""
    return f"; wrong at {_listed(bad)}, right at {_listed(good)}"


def wrong_values(cases: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> str:
    """Generators with a wrong case at these sizes and without, where there are both."""
    alike = [case for case in cases if case["sizes"] == sizes]
    bad, good = _parted(alike, lambda case: str(case["generator"]))
    if not (bad and good):
        return ""
    return f"; at {_sizes(sizes)} wrong with {_listed(bad)}, right with {_listed(good)}"


def _parted(
    cases: Sequence[Mapping[str, Any]], label: Callable[[Mapping[str, Any]], str]
) -> tuple[list[str], list[str]]:
    """Labels with a wrong case, and those without."""
    wrong: dict[str, bool] = {}
    for case in cases:
        wrong[label(case)] = wrong.get(label(case), False) or _is_wrong(case)
    bad = [label for label, is_wrong in wrong.items() if is_wrong]
    return bad, [label for label in wrong if label not in bad]


def _is_wrong(case: Mapping[str, Any]) -> bool:
    outputs = case["outputs"].values()
    failures = any(output["failures"] or output.get("beside") for output in outputs)
    return bool(failures or case["error"] or case["distinct_outputs"] > 1)


def _sizes(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(sizes.items()))


def _listed(labels: Sequence[str]) -> str:
    more = len(labels) - SIZES_NAMED
    return ", ".join(labels[:SIZES_NAMED]) + (f" and {more} more" if more > 0 else "")
