"""Every reason for which a session is not used, in full."""

import copy

import pytest

from fivegates.errors import ArtifactError
from fivegates.fitness import judge
from fivegates.record import Reason
from simulated import (
    DENSE,
    DEVICE,
    QUIET,
    Laws,
    Simulation,
    derived,
    state_csv,
)


@pytest.fixture
def claim(freeze, document, policy):
    """The triad's, with few rounds."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}
    return freeze(document)


REFUSED = "fail"
UNDECIDED = "inconclusive"
WARM_END = "latency or SM clock had not come to rest when the warm-up was cut off"


@pytest.mark.parametrize(
    ("laws", "status", "reason", "message"),
    [
        (
            {"facts": {"failed_elements": {"again": 0, "baseline": 2, "candidate": 3}}},
            REFUSED,
            Reason.TIMED_OUTPUT_WRONG,
            "elements outside tolerance after timing: baseline 2, candidate 3",
        ),
        (
            {"fresh": {"candidate": 1.4}},
            REFUSED,
            Reason.REPEATED_VALUES,
            "candidate is faster only on values that it has seen before",
        ),
        (
            {"poison": {"candidate": 1.4}},
            REFUSED,
            Reason.REPEATED_VALUES,
            "candidate is faster only where its outputs are already right",
        ),
        (
            {"facts": {"expired_blocks": 2}},
            UNDECIDED,
            Reason.HELD_QUEUE_EXPIRED,
            "the hold gave up in 2 blocks",
        ),
        (
            {"state": {"throttle_reasons": "sw-power-cap+hw-thermal-slowdown"}},
            UNDECIDED,
            Reason.THROTTLED,
            "device slowed: hw-thermal-slowdown",
        ),
        (
            {"state": {"compute_processes": "3"}},
            UNDECIDED,
            Reason.COMPETING_WORK,
            "3 compute processes on the device, expected 1",
        ),
        (
            {"control": {"none": 1.0, "once": 5.0, "twice": 8.0}, **QUIET},
            UNDECIDED,
            Reason.TIMER_UNRELIABLE,
            "twice the counted work took 1.75 times as long, expected 2",
        ),
        (
            {"again": 9.5},
            UNDECIDED,
            Reason.NULL_DIFFERS,
            "baseline against itself is faster",
        ),
        (
            {"again": 10.5},
            UNDECIDED,
            Reason.NULL_DIFFERS,
            "baseline against itself is slower",
        ),
        ({"ramp": lambda k: 1.02**k}, UNDECIDED, Reason.NOT_STATIONARY, WARM_END),
        (
            {"drift": 4e-4, **QUIET},
            UNDECIDED,
            Reason.NOT_STATIONARY,
            "the last rounds took 1.067 times as long as the first, expected within "
            "0.05",
        ),
        (
            {"drift": -4e-4, **QUIET},
            UNDECIDED,
            Reason.NOT_STATIONARY,
            "the last rounds took 0.9368 times as long as the first, expected within "
            "0.05",
        ),
        (
            {"half": 0.02, **QUIET},
            UNDECIDED,
            Reason.ORDER_EFFECT,
            "first halves of rounds over the second ones: [1.02, 1.02], beyond the "
            "margin 0.01",
        ),
        (
            {"order": 0.02, **QUIET},
            UNDECIDED,
            Reason.ORDER_EFFECT,
            "rounds that baseline opened over the others: [1.02, 1.02], beyond the "
            "margin 0.01",
        ),
        (
            {"candidate": 9.8, "clocks": {"candidate": 2178.0}},
            UNDECIDED,
            Reason.UNEQUAL_STATE,
            "faster in time, slower in cycles: baseline's SM clock was 0.9091 times "
            "the candidate's",
        ),
        (
            {"bare": 4.5},
            UNDECIDED,
            Reason.FLOOR_DOMINATED,
            "an empty kernel of one warp takes 0.56 of candidate's time, expected at "
            "most 0.5",
        ),
        (
            {"state": {"throttle_reasons": "sw-power-cap", "compute_processes": ""}},
            "pass",
            Reason.PASSED,
            "1920 outputs checked after timing, none wrong",
        ),
        (
            {"fresh": {"baseline": 1.4, "candidate": 1.4}, "poison": {"baseline": 1.4}},
            "pass",
            Reason.PASSED,
            "1920 outputs checked after timing, none wrong",
        ),
        (
            {"candidate": 9.8, "clocks": {"candidate": 1980.5}},
            "pass",
            Reason.PASSED,
            "1920 outputs checked after timing, none wrong",
        ),
    ],
    ids=lambda value: value if isinstance(value, Reason) else "",
)
def test_session_that_may_not_be_used_says_why(claim, laws, status, reason, message):
    _, verdict = derived(Simulation(claim, Laws(**laws)))
    assert (verdict.status, verdict.reason, verdict.message) == (
        status,
        reason,
        message,
    )


@pytest.mark.parametrize(
    ("exit_status", "reason", "message"),
    [
        (None, Reason.TIMEOUT, "the session did not end in time"),
        (1, Reason.PROCESS_FAILED, "exit status 1: out of memory"),
        (0, Reason.PROCESS_FAILED, "exit status 0: out of memory"),
        (-9, Reason.PROCESS_FAILED, "exit status -9: out of memory"),
    ],
)
def test_session_that_broke_off_did_not_run(good, exit_status, reason, message):
    broke = {"exit_status": exit_status, "last_words": "out of memory", "facts": None}
    found, verdict = derived(good[0], **broke)
    assert found == {"statistics": None}
    assert (verdict.status, verdict.reason, verdict.message) == (
        "not-run",
        reason,
        message,
    )


@pytest.mark.parametrize(
    ("laws", "status"),
    [
        ({"fresh": {"candidate": 1.04}}, REFUSED),
        ({"poison": {"candidate": 1.04}}, "inconclusive"),
        ({"poison": {"candidate": 1.08}}, REFUSED),
    ],
    ids=["fresh", "poison", "much poison"],
)
def test_small_win_that_may_be_all_repetition_is_no_win(claim, laws, status):
    """3 % faster on values that it has seen, and 4 % slower on others."""
    found, verdict = derived(Simulation(claim, Laws(candidate=10 / 1.03, **laws)))
    assert found["statistics"]["outcome"] == "faster"
    assert (verdict.status, verdict.reason) == (status, Reason.REPEATED_VALUES)


def test_refusal_outweighs_disturbance(claim):
    """A wrong kernel is wrong on a busy device too."""
    laws = Laws(fresh={"candidate": 1.4}, state={"compute_processes": "2"}, again=9.0)
    _, verdict = derived(Simulation(claim, laws))
    assert verdict.reason == Reason.REPEATED_VALUES


def test_times_of_other_boundaries_are_not_held_against_the_floor(good, claim):
    _, found, _ = good
    said = copy.deepcopy(found["statistics"])
    said["bare_floor"]["median_us"] = 9.0
    measured = {"exit_status": 0, "facts": good[0].facts()}
    assert judge(measured, said, claim).reason == Reason.FLOOR_DOMINATED
    said["kind"] = "launch/buffer-rotated"
    assert judge(measured, said, claim).status == "pass"


LEAST = 2 * DEVICE["l2_bytes"] + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"failed_elements": {"baseline": 0, "candidate": 0}},
            "failed_elements is {'baseline': 0, 'candidate': 0}, "
            "expected ['again', 'baseline', 'candidate']",
        ),
        ({"checked_slots": 1919}, "checked_slots is 1919, expected 1920"),
        (
            {"working_set_bytes": LEAST - 1},
            f"working_set_bytes is {LEAST - 1}, expected at least {LEAST}",
        ),
        ({"warmup_launches": 40}, "warmup_launches is 40, expected 1920"),
    ],
)
def test_session_that_did_less_than_its_plan_is_refused(good, changes, message):
    facts = {**good[0].facts(), **changes}
    with pytest.raises(ArtifactError) as error:
        derived(good[0], facts=facts)
    assert str(error.value) == f"timing/s01: {message}"


def test_times_of_another_device_are_refused(good):
    other = "GPU-00000000-0000-0000-0000-000000000000"
    facts = {**good[0].facts(), "gpu_uuid": other}
    with pytest.raises(ArtifactError) as error:
        derived(good[0], facts=facts)
    assert str(error.value) == (
        f"timing/s01: measured on {other}, expected {DEVICE['gpu_uuid']}"
    )


def test_clock_commands_lock_what_the_device_reports_and_restore_it(good):
    assert good[1]["clock_commands"] == {
        "lock": [
            f"nvidia-smi -i {DEVICE['gpu_uuid']} -lgc 1980,1980",
            f"nvidia-smi -i {DEVICE['gpu_uuid']} -lmc 3201,3201",
        ],
        "restore": [
            f"nvidia-smi -i {DEVICE['gpu_uuid']} -rgc",
            f"nvidia-smi -i {DEVICE['gpu_uuid']} -rmc",
        ],
    }


def test_clocks_that_somebody_set_are_a_policy(good):
    locked = state_csv(2.0, throttle_reasons="applications-clocks-setting")
    found, verdict = derived(good[0], {"state.csv": locked})
    assert found["statistics"]["state"]["clock_policy"] == "locked"
    assert verdict.status == "pass"
