"""Gate 4, decided: useful bytes against a bandwidth measured in the same run.

Useful bytes come from the contract and say what any implementation must move. They
are not counted traffic: a rotated working set makes cache hits rare, no more than that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fivegates.arm import ROLES, Role
from fivegates.backend import Device
from fivegates.claim import Claim
from fivegates.record import Reason, Verdict

# Twice the bytes must take twice the time, or the probe did not measure bandwidth.
DOUBLING = (1.8, 2.2)
# No multiprocessor of any generation does more floating-point operations in a clock on
# any unit, in formats of 8 bits or more; a kernel that needs more skipped its work.
FLOPS_PER_CLOCK = 16384


def derive(
    *,
    declared: Mapping[str, Any],
    probes: Sequence[Mapping[str, Any]],
    timing: Mapping[str, Any],
    nominal_gb_s: float | None,
) -> dict[str, Any]:
    """Bandwidths in 1e9 bytes/s and their ratios. The larger probe is the ceiling."""
    medians = [float(np.median(probe["elapsed_us"])) for probe in probes]
    small, large = probes[0], probes[-1]
    copy = 2 * large["size_bytes"] / medians[-1] / 1e3
    scale = large["size_bytes"] / small["size_bytes"] / 2
    useful = {
        role: declared["useful_bytes"] / timing[f"{role}_median_us"] / 1e3
        for role in ROLES
    }
    return {
        "copy_gb_s": copy,
        "nominal_gb_s": nominal_gb_s,
        "copy_doubling_ratio": medians[-1] / medians[0] / scale,
        "copy_of_nominal_ratio": _ratio(copy, nominal_gb_s),
        "baseline_useful_gb_s": useful["baseline"],
        "candidate_useful_gb_s": useful["candidate"],
        "baseline_of_copy_ratio": useful["baseline"] / copy,
        "candidate_of_copy_ratio": useful["candidate"] / copy,
        "baseline_of_nominal_ratio": _ratio(useful["baseline"], nominal_gb_s),
        "candidate_of_nominal_ratio": _ratio(useful["candidate"], nominal_gb_s),
        "intensity_flop_per_byte": declared["flops"] / declared["useful_bytes"],
    }


def _ratio(value: float, ceiling: float | None) -> float | None:
    return None if ceiling is None else value / ceiling


def judge(
    *,
    claim: Claim,
    device: Device,
    declared: Mapping[str, Any],
    probes: Sequence[Mapping[str, Any]],
    timing: Mapping[str, Any],
    derived: Mapping[str, Any],
) -> Verdict:
    """Whether the times are possible on this device."""
    for role in ROLES:
        refusal = _impossible(role, claim, timing, derived)
        if refusal or (refusal := _too_many_flops(role, device, declared, timing)):
            return refusal
    doubling = derived["copy_doubling_ratio"]
    verified = all(probe["verified"] for probe in probes)
    if not (verified and DOUBLING[0] <= doubling <= DOUBLING[1]):
        return Verdict.inconclusive(
            Reason.PROBE_UNRELIABLE,
            f"twice the bytes took {doubling:.3g} times as long, expected "
            f"{DOUBLING[0]} to {DOUBLING[1]}, copies verified",
        )
    nominal = derived["nominal_gb_s"]
    bus = "an unreported bus" if nominal is None else f"{nominal:.4g} GB/s nominal"
    return Verdict.passed(
        f"{derived['candidate_useful_gb_s']:.4g} GB/s useful of "
        f"{derived['copy_gb_s']:.4g} GB/s copied and {bus}"
    )


def _impossible(
    role: Role, claim: Claim, timing: Mapping[str, Any], derived: Mapping[str, Any]
) -> Verdict | None:
    """Refusals name no time: of a refused claim no performance number is printed."""
    if timing[f"{role}_median_us"] * (1 + claim.margin) < timing[f"{role}_floor_us"]:
        return Verdict.fail(
            Reason.BELOW_FLOOR, f"{role} takes less time than an empty kernel"
        )
    nominal = derived["nominal_gb_s"]
    warm = claim.workload.cache_regime == "same-buffer"
    if not warm and nominal is not None and derived[f"{role}_useful_gb_s"] > nominal:
        return Verdict.fail(
            Reason.ABOVE_ROOF,
            f"{role} moves more useful bytes than the memory bus can",
        )
    return None


def _too_many_flops(
    role: Role,
    device: Device,
    declared: Mapping[str, Any],
    timing: Mapping[str, Any],
) -> Verdict | None:
    """The declared work against what no unit can do; version 1 recorded no clock."""
    clock_mhz = timing.get("sm_clock_max_mhz")
    if clock_mhz is None:
        return None
    clocks = timing[f"{role}_median_us"] * clock_mhz
    if declared["flops"] > clocks * device.multiprocessors * FLOPS_PER_CLOCK:
        return Verdict.fail(
            Reason.ABOVE_ROOF,
            f"{role} does more floating-point operations than any unit of "
            f"{device.multiprocessors} multiprocessors can",
        )
    return None
