import json

import pytest

from fivegates.backend import Backend
from fivegates.record import Reason
from fivegates.roofline import FLOPS_PER_CLOCK, derive, judge
from trees import V2_SUPPORTED, views

NOMINAL = 4814.0


def declared(useful_bytes=12_000_036):
    return {"useful_bytes": useful_bytes, "flops": 2_000_006}


def timing(candidate=4.4, baseline=5.0, floor=1.0):
    return {
        "baseline_median_us": baseline,
        "candidate_median_us": candidate,
        "baseline_floor_us": floor,
        "candidate_floor_us": floor,
    }


def probes(small=128.0, large=256.0, verified=True):
    sizes = (256 << 20, 512 << 20)
    return [
        {"size_bytes": size, "elapsed_us": [us, us, us], "verified": verified}
        for size, us in zip(sizes, (small, large), strict=True)
    ]


@pytest.fixture(scope="module")
def device():
    """The one that the committed receipts are of."""
    found = json.loads((views(V2_SUPPORTED) / "backend.json").read_text())
    return Backend.from_dict(found).device


@pytest.fixture
def judged(freeze, document, device):
    """Derived values and verdict of times and probes, under the triad's claim."""

    def judge_them(times=None, probe=None, *, regime="buffer-rotated", **fields):
        document["workload"]["cache_regime"] = regime
        known = {"probes": probe or probes(), "timing": times or timing()}
        derived = derive(declared=declared(**fields), nominal_gb_s=NOMINAL, **known)
        verdict = judge(
            claim=freeze(document),
            device=device,
            declared=declared(**fields),
            derived=derived,
            **known,
        )
        return derived, verdict

    return judge_them


def test_useful_bytes_over_time_are_compared_with_both_ceilings(judged):
    derived, verdict = judged()
    assert derived["copy_gb_s"] == pytest.approx(2 * (512 << 20) / 256e-6 / 1e9)
    assert derived["candidate_useful_gb_s"] == pytest.approx(12.000036e6 / 4.4e-6 / 1e9)
    assert derived["candidate_of_nominal_ratio"] == pytest.approx(
        derived["candidate_useful_gb_s"] / NOMINAL
    )
    assert derived["intensity_flop_per_byte"] == pytest.approx(1 / 6)
    assert verdict.message == (
        "2727 GB/s useful of 4194 GB/s copied and 4814 GB/s nominal"
    )


def test_rotated_time_above_the_bus_is_refused(judged):
    """corpus D08: 2.2 us for 12 MB is 5455 GB/s."""
    _, verdict = judged(timing(candidate=2.2))
    assert (verdict.status, verdict.reason) == ("fail", Reason.ABOVE_ROOF)
    assert verdict.message == (
        "candidate moves more useful bytes than the memory bus can"
    )


def test_same_buffer_may_be_served_by_the_cache(judged):
    _, verdict = judged(timing(candidate=2.2), regime="same-buffer")
    assert verdict.status == "pass"


def test_bus_that_is_not_reported_bounds_nothing(freeze, document, device):
    known = {"probes": probes(), "timing": timing(), "declared": declared()}
    derived = derive(nominal_gb_s=None, **known)
    assert derived["candidate_of_nominal_ratio"] is None
    verdict = judge(claim=freeze(document), device=device, derived=derived, **known)
    assert verdict.message.endswith("GB/s copied and an unreported bus")


@pytest.mark.parametrize("role", ["baseline", "candidate"])
def test_time_under_an_empty_kernel_is_refused(judged, role):
    _, verdict = judged(timing(**{role: 0.9}), useful_bytes=12)
    assert (verdict.status, verdict.reason) == ("fail", Reason.BELOW_FLOOR)
    assert verdict.message == f"{role} takes less time than an empty kernel"


def test_time_at_the_floor_within_the_margin_is_possible(judged):
    _, verdict = judged(timing(candidate=0.995), useful_bytes=12)
    assert verdict.status == "pass"


@pytest.mark.parametrize(
    "probe", [probes(large=130.0), probes(large=600.0), probes(verified=False)]
)
def test_probe_that_does_not_scale_or_copy_bounds_nothing(judged, probe):
    _, verdict = judged(probe=probe)
    assert (verdict.status, verdict.reason) == (
        "inconclusive",
        Reason.PROBE_UNRELIABLE,
    )


@pytest.mark.parametrize("role", ["baseline", "candidate"])
def test_more_work_than_any_unit_can_is_refused(freeze, document, device, role):
    """The declared operations in this time, at the highest clock that was seen."""
    document["workload"]["cache_regime"] = "same-buffer"
    most = 1980 * device.multiprocessors * FLOPS_PER_CLOCK
    limit_us = declared()["flops"] / most
    known = {"probes": probes(), "declared": declared()}

    def verdict(time_us, clock_mhz=1980):
        times = {**timing(floor=0.0), f"{role}_median_us": time_us}
        times["sm_clock_max_mhz"] = clock_mhz
        derived = derive(nominal_gb_s=None, timing=times, **known)
        return judge(
            claim=freeze(document),
            device=device,
            derived=derived,
            timing=times,
            **known,
        )

    assert verdict(limit_us * 1.01).status == "pass"
    refused = verdict(limit_us * 0.99)
    assert (refused.status, refused.reason) == ("fail", Reason.ABOVE_ROOF)
    assert refused.message == (
        f"{role} does more floating-point operations than any unit of "
        f"{device.multiprocessors} multiprocessors can"
    )
    # Version 1 recorded no clock in what timing derives.
    assert verdict(limit_us * 0.99, clock_mhz=None).status == "pass"
