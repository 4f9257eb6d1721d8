"""Part D of the corpus, mistakes of public benchmarks: what becomes of each here.

Those of inputs, device and state, D10 to D15, D19, D20, are in test_corpus_conditions.
D07, code that loads behind a held stream, needs a device: tests/gpu/test_held_queue.py.
An entry that no input of ours can express is shown to have no way in.
"""

import json
import math
from dataclasses import replace

import pytest

from fivegates import roofline
from fivegates.conclusion import conclude
from fivegates.errors import ArtifactError, ClaimError
from fivegates.plan import SAMPLE_COLUMNS
from fivegates.record import Reason, Verdict
from fivegates.rounding import differences, rounded
from fivegates.schema import check
from fivegates.timing import derive as combine
from simulated import (
    BACKEND,
    DENSE,
    SLOT_BYTES,
    Laws,
    Simulation,
    artifact_error,
    derived,
    reason,
    record,
    refusal_of,
    statistics,
    to_csv,
    unknown,
)

QUIET = {"sample_sd": 1e-5, "round_sd": 1e-5}


@pytest.fixture
def of_kind(freeze, document, policy):
    """The triad's claim of another boundary or regime, with few rounds."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}

    def changed(boundary="device", regime="buffer-rotated"):
        document["workload"] |= {"boundary": boundary, "cache_regime": regime}
        return freeze(document)

    return changed


@pytest.fixture
def claim(of_kind):
    return of_kind()


def bounded(claim, us, *, flops=2_000_006, useful_bytes=12_000_036, floor_us=0.5):
    """Gate 4 on arms that both take this long, on an H200."""
    timing = {f"{role}_median_us": us for role in ("baseline", "candidate")}
    timing |= {f"{role}_floor_us": floor_us for role in ("baseline", "candidate")}
    timing["sm_clock_max_mhz"] = 1980.0
    probes = [
        {"size_bytes": size, "elapsed_us": [us] * 3, "verified": True}
        for size, us in ((256 << 20, 128.0), (512 << 20, 256.0))
    ]
    known = {"declared": {"useful_bytes": useful_bytes, "flops": flops}}
    known |= {"probes": probes, "timing": timing}
    found = roofline.derive(nominal_gb_s=BACKEND.device.nominal_gb_s, **known)
    return roofline.judge(claim=claim, device=BACKEND.device, derived=found, **known)


def matmul(size):
    return {"flops": 2 * size**3, "useful_bytes": 12 * size**2}


TOO_MANY = (
    "baseline does more floating-point operations than any unit of 132 "
    "multiprocessors can"
)


def test_d01_submission_time_is_no_kernel_time(claim, of_kind):
    """6 us for 4096^3 by the host's clock: neither file nor time is taken."""
    simulation = Simulation(claim, Laws())
    columns = [*SAMPLE_COLUMNS, "timer"]
    rows = [[*row, "host_perf_counter"] for row in simulation.samples]
    assert artifact_error(simulation, {"samples.csv": to_csv(columns, rows)}) == (
        f"timing/s01/samples.csv: columns are {columns}, expected {SAMPLE_COLUMNS}"
    )
    verdict = bounded(of_kind(regime="same-buffer"), 6.0, **matmul(4096))
    assert (verdict.status, verdict.reason, verdict.message) == (
        "fail",
        Reason.ABOVE_ROOF,
        TOO_MANY,
    )


def test_d02_throughput_that_grows_for_ever_is_above_the_roof(claim, of_kind):
    """20 us for every shape; and a timer that is blind to work is unreliable."""
    found = [
        bounded(of_kind(regime="same-buffer"), 20.0, **matmul(size)).reason
        for size in (1024, 1625, 2580, 4096)
    ]
    assert found == [*[Reason.PASSED] * 3, Reason.ABOVE_ROOF]
    flat = {"none": 20.0, "once": 21.0, "twice": 21.0}
    assert reason(claim, Laws(control=flat)) == (
        "inconclusive",
        Reason.TIMER_UNRELIABLE,
    )


def test_d02_timer_that_sees_no_work_at_all_is_unreliable(claim):
    flat = dict.fromkeys(("none", "once", "twice"), 20.0)
    laws = Laws(control=flat, sample_sd=0.0, round_sd=0.0)
    assert reason(claim, laws) == ("inconclusive", Reason.TIMER_UNRELIABLE)


def test_d03_idle_bubble_in_every_interval_hides_the_kernel(claim, of_kind):
    """4 us read as 51: as a device time it is floor, and it is no ratio to one."""
    bubble = Laws(baseline=4.0, candidate=3.0, window=47.0)
    assert reason(claim, bubble) == ("inconclusive", Reason.FLOOR_DOMINATED)
    sessions = [statistics(of_kind(b), Laws()) for b in ("device", "launch")]
    with pytest.raises(ArtifactError) as error:
        combine(sessions, planned=2, margin=0.01, confidence=0.95)
    assert str(error.value) == (
        "a ratio of device/buffer-rotated to launch/buffer-rotated, expected one kind "
        "in all sessions"
    )


def test_d04_overhead_of_one_arm_counts_only_where_the_claim_names_it(
    of_kind, document
):
    equal, wrapped = Laws(candidate=10.0), Laws(baseline=14.0, candidate=94.0)
    assert statistics(of_kind("device"), equal)["outcome"] == "equivalent"
    assert statistics(of_kind("launch"), wrapped)["outcome"] == "slower"
    assert unknown(
        refusal_of(document, "candidate.boundary", "launch"), "candidate.boundary"
    )


def test_d05_warm_up_too_short_for_clocks_is_not_stationary(claim, document):
    """Decaying from 1.3 to 1.0 still when the cap cut it off: 40 steps of 60."""
    decaying = Laws(ramp=lambda step: 1.3 - 0.3 * step / 60)
    assert reason(claim, decaying) == ("inconclusive", Reason.NOT_STATIONARY)
    assert reason(claim, Laws(drift=math.log(1 / 1.3) / 190)) == (
        "inconclusive",
        Reason.NOT_STATIONARY,
    )
    message = refusal_of(document, "candidate.warmup_launches", 5)
    assert unknown(message, "candidate.warmup_launches")


def test_d06_first_call_with_compilation_is_kept_and_outweighed(claim, policy):
    laws = Laws(first=math.log(4000))
    found, verdict = derived(Simulation(claim, laws))
    said = found["statistics"]
    assert verdict.status == "pass"
    assert said["speedup"]["estimate"] == pytest.approx(1.25, rel=0.003)
    assert said["baseline"]["median_us"] == pytest.approx(10, rel=0.01)
    assert said["outliers"]["baseline"]["high_severe"] >= 1
    policy["timing"]["warmup_launches"] = 0
    document = {"backend": "auto", "claim": "x", "claims": ["x"], "policy": policy}
    with pytest.raises(ClaimError) as error:
        check(document, "config", "config.yaml", ClaimError)
    assert str(error.value) == (
        "config.yaml: policy.timing.warmup_launches is 0 (int), "
        "expected an integer of at least 20"
    )


def test_d06_cold_start_tells_its_parts_apart(of_kind):
    cold = Laws(baseline=2.2e5, candidate=1.66e7, floor=2e5)
    said = statistics(of_kind("cold-start", "same-buffer"), cold)
    assert said["outcome"] == "slower"
    assert set(said["parts"]) == {"context", "load", "first-launch"}
    assert (said["kind"], said["repeat"]) == ("cold-start/same-buffer", None)


@pytest.mark.parametrize(
    ("regime", "us", "expected"),
    [
        ("same-buffer", 2.2, Reason.PASSED),
        ("buffer-rotated", 2.2, Reason.ABOVE_ROOF),
        ("swept", 2.2, Reason.ABOVE_ROOF),
        ("same-buffer", 3.0, Reason.PASSED),
    ],
)
def test_d08_bandwidth_above_the_bus_is_the_caches(of_kind, regime, us, expected):
    assert bounded(of_kind(regime=regime), us).reason == expected


def test_d08_working_set_within_the_cache_is_not_rotated(claim, document):
    """3.0 us is below the bus and no memory traffic either: the footprint tells."""
    simulation = Simulation(claim, Laws(facts={"working_set_bytes": SLOT_BYTES}))
    assert artifact_error(simulation) == (
        f"timing/s01: working_set_bytes is {SLOT_BYTES}, expected at least 125829121"
    )
    assert refusal_of(document, "workload.cache_regime", "hbm") == (
        "claim.yaml: workload.cache_regime is 'hbm' (str), expected one of: "
        "same-buffer, buffer-rotated, swept"
    )


def test_d09_win_in_the_warm_cache_is_of_another_kind(of_kind, freeze, document):
    warm, cold = of_kind(regime="same-buffer"), of_kind()
    won, lost = Laws(candidate=10 / 1.2), Laws(candidate=10 / 0.97)
    sessions = [statistics(warm, won), statistics(cold, lost)]
    assert [session["outcome"] for session in sessions] == ["faster", "slower"]
    with pytest.raises(ArtifactError, match=r"^a ratio of device/buffer-rotated to "):
        combine(sessions, planned=2, margin=0.01, confidence=0.95)
    facts = {"slots": 1, "working_set_bytes": SLOT_BYTES}
    # With one slot all counts of a plan for twelve are wrong too.
    assert artifact_error(Simulation(cold, Laws(facts=facts))).startswith(
        "timing/s01: checked_slots is "
    )
    document["workload"]["rotation_slots"] = 1
    with pytest.raises(ClaimError) as error:
        freeze(document)
    assert str(error.value) == (
        "workload.rotation_slots is 1, expected at least 2 or none for cache_regime "
        "'buffer-rotated'"
    )


def test_d16_launches_of_a_sample_are_a_column_and_follow_by_rule(claim):
    simulation = Simulation(claim, Laws())
    rows = [[*row] for row in simulation.samples]
    place = next(k for k, row in enumerate(rows) if row[0] == "main")
    planned = rows[place][:6]
    rows[place][5] *= 20
    found = [str(cell) for cell in rows[place][:6]]
    text = to_csv(SAMPLE_COLUMNS, rows)
    assert artifact_error(simulation, {"samples.csv": text}) == (
        f"timing/s01/samples.csv: row {place + 2}: {found}, expected {planned}"
    )


def test_d16_summary_that_divides_twice_differs_from_its_raw_samples(claim):
    found = rounded(derived(Simulation(claim, Laws()))[0])
    told = json.loads(json.dumps(found))
    assert list(differences(told, found)) == []
    told["statistics"]["candidate"]["median_us"] /= 20
    twice, once = (d["statistics"]["candidate"]["median_us"] for d in (told, found))
    assert list(differences(told, found)) == [
        f"statistics.candidate.median_us is {twice}, expected {once}"
    ]


def test_d17_printed_times_have_no_way_in(claim, document):
    simulation = Simulation(claim, Laws())
    printed = "name,cpu_us,gpu_us\nbaseline,9.8,41.0\ncandidate,5.1,41.3\n"
    assert artifact_error(simulation, {"samples.csv": printed}) == (
        "timing/s01/samples.csv: columns are ['name', 'cpu_us', 'gpu_us'], "
        f"expected {SAMPLE_COLUMNS}"
    )
    assert unknown(
        refusal_of(document, "baseline.elapsed_us", 9.8), "baseline.elapsed_us"
    )
    measured = statistics(claim, Laws(baseline=41.0, candidate=41.3))
    assert measured["outcome"] == "equivalent"


def test_d18_events_on_another_stream_are_seen_in_what_they_time(claim, document):
    """An arm is a kernel, the stream is the harness's; 0 us is no time."""
    assert unknown(refusal_of(document, "candidate.stream", "own"), "candidate.stream")
    simulation = Simulation(claim, Laws())
    simulation.samples[0][-1] = 0.0
    text = to_csv(SAMPLE_COLUMNS, simulation.samples)
    assert artifact_error(simulation, {"samples.csv": text}) == (
        "timing/s01/samples.csv: row 2: elapsed_us is '0.0', "
        "expected a positive finite number"
    )
    blind = {"none": 0.01, "once": 0.012, "twice": 0.012}
    assert reason(claim, Laws(control=blind)) == (
        "inconclusive",
        Reason.TIMER_UNRELIABLE,
    )
    verdict = bounded(claim, 0.01, useful_bytes=12, flops=2)
    assert (verdict.status, verdict.reason) == ("fail", Reason.BELOW_FLOOR)


def test_d24_flush_inside_the_window_dominates_it(claim):
    laws = Laws(baseline=5.0, candidate=10.0, window=58.0)
    found, verdict = derived(Simulation(claim, laws))
    assert found["statistics"]["bare_floor"]["median_us"] == pytest.approx(58.5, 0.01)
    assert (verdict.status, verdict.reason, verdict.message) == (
        "inconclusive",
        Reason.FLOOR_DOMINATED,
        "an empty kernel of one warp takes 0.93 of baseline's time, expected at most "
        "0.5",
    )


def test_part_d_never_ends_in_supported_without_three_passing_gates(claim):
    """Whatever a session that decides nothing holds, the claim is not supported."""
    good = {n: record(n, {}, {}) for n in ("timing/s01", "timing", "roofline")}
    good["timing"].result["derived"]["outcome"] = "faster"
    assert conclude(BACKEND, good)[0] == "supported"
    for name in good:
        for verdict in (
            Verdict.fail(Reason.REPEATED_VALUES, ""),
            Verdict.inconclusive(Reason.THROTTLED, ""),
            Verdict.not_run(Reason.TIMEOUT, ""),
        ):
            spoiled = {**good, name: replace(good[name], verdict=verdict)}
            assert conclude(BACKEND, spoiled)[0] != "supported"
