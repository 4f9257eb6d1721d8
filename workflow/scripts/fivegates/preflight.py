"""What gates 1 and the build say on the host beyond what they say on a device.

Order dependence, and how near the CPU's arithmetic comes to the tolerance: in both
settings of contraction, as nvcc fuses a*b+c by default and a CPU does not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fivegates.constructs import fast_intrinsics
from fivegates.contract import Case
from fivegates.record import Reason, Verdict

ORDERS = 32  # of execution: ascending, descending, thirty drawn from seeds
HEADROOM = 0.5  # of the tolerance: the device's last bits are not the CPU's


def sweep(chosen: Sequence[Case]) -> list[int]:
    """Launches of each case, each in an order of its own: every order for each size.

    What depends on the order depends on the sizes, and hardly on the values: later
    cases of the same sizes are launched forwards and backwards.
    """
    seen: list[Mapping[str, int]] = []
    counts = []
    for case in chosen:
        counts.append(2 if case.sizes in seen else ORDERS)
        seen.append(case.sizes)
    return counts


def judge_build(measured: Mapping[str, Any]) -> Verdict:
    """A build on the host passes; the message says who else compiled the source."""
    device = measured["host"]["device_compiler"]
    said = (
        "NVRTC is not installed, skipped"
        if device is None
        else f"{device['name']} for {', '.join(device['targets'])}"
    )
    return Verdict.passed(f"compiled by {measured['compiler']}; {said}")


def derive(measured: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Largest share of the tolerance over all cases, and what cannot be compared."""
    cases = measured["host"]["cases"]

    def largest(key: str) -> float | None:
        return max((c[key] for c in cases if c[key] is not None), default=None)

    intrinsics = fast_intrinsics(source)
    return {
        "orders": ORDERS,
        "tolerance_ratio": largest("tolerance_ratio"),
        "contracted_tolerance_ratio": largest("contracted_tolerance_ratio"),
        "contraction_spread_ratio": largest("contraction_spread_ratio"),
        "fast_intrinsics": list(intrinsics),
        "numerics": "not representative" if intrinsics else "representative",
    }


def judge(derived: Mapping[str, Any], message: str) -> Verdict:
    """A pass needs headroom in both settings of contraction."""
    ratios = [
        derived[key] or 0.0 for key in ("tolerance_ratio", "contracted_tolerance_ratio")
    ]
    if max(ratios) > HEADROOM:
        return Verdict.inconclusive(
            Reason.MARGINAL,
            f"errors reach {max(ratios):.2g} of the tolerance, expected at most "
            f"{HEADROOM:g}: the device's last bits differ from the CPU's",
        )
    names = ", ".join(derived["fast_intrinsics"])
    note = f"; numerics not representative: {names}" if names else ""
    return Verdict.passed(f"{message}, {ORDERS} orders{note}")
