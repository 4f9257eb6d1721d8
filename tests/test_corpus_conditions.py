"""Part D of the corpus, where inputs, device or its state were not those told.

The rest of part D is in test_corpus_timing.
"""

import inspect
import json
import math

import numpy as np
import pytest

from fivegates import state
from fivegates.claim import Tolerance
from fivegates.comparison import compare
from fivegates.plan import SAMPLE_COLUMNS
from fivegates.record import Reason
from fivegates.store import canonical
from simulated import (
    DENSE,
    GPU_UUID,
    Laws,
    Simulation,
    artifact_error,
    derived,
    reason,
    refusal_of,
    state_csv,
    statistics,
    to_csv,
    unknown,
)

QUIET = {"sample_sd": 1e-5, "round_sd": 1e-5}


@pytest.fixture
def claim(freeze, document, policy):
    """The triad's, with few rounds."""
    policy["timing"] |= {"rounds": 16, "graph_us": 200.0, "every": DENSE}
    return freeze(document)


def test_d10_both_arms_read_the_same_bits(claim, triad, document):
    """One generator fills buffers that both arms are given: it knows no role."""
    assert set(inspect.signature(triad.inputs).parameters) == {"case"}
    assert unknown(refusal_of(document, "baseline.inputs", "zeros"), "baseline.inputs")
    seen = statistics(claim, Laws())["state"]
    assert (seen["power_max_w"], seen["sm_clock_min_mhz"]) == (120.5, 1980)


def test_d11_throttling_with_one_arm_always_first_is_not_the_plan(claim):
    simulation = Simulation(claim, Laws())
    plan = json.loads(simulation.raw["plan.json"])
    for item in plan["rounds"]:
        for step in item["steps"]:
            if step["comparison"] == "main":
                step["blocks"] = ["baseline", "baseline", "candidate", "candidate"]
    edited = json.dumps(plan)
    assert artifact_error(simulation, {"plan.json": edited}) == (
        "timing/s01/plan.json: not the plan of its claim"
    )


def test_d11_throttling_of_both_arms_alike_is_not_stationary(claim):
    """The ratio holds, the session does not."""
    capped = {"throttle_reasons": "sw-power-cap", "sm_clock_mhz": "1580"}
    slower = Laws(drift=math.log(1425 / 1237) / 190, state=capped, **QUIET)
    found, verdict = derived(Simulation(claim, slower))
    assert found["statistics"]["speedup"]["estimate"] == pytest.approx(1.25, rel=1e-3)
    assert (verdict.status, verdict.reason) == ("inconclusive", Reason.NOT_STATIONARY)
    assert set(found["statistics"]["baseline"]) == {"median_us", "p10_us", "p90_us"}


@pytest.mark.parametrize("role", [None, "candidate"], ids=["all", "of one arm"])
def test_d12_discarded_samples_are_missed(claim, role):
    simulation = Simulation(claim, Laws())
    rows = simulation.samples
    kept = [row for row in rows if role is not None and row[3] != role]
    text = to_csv(SAMPLE_COLUMNS, kept)
    assert artifact_error(simulation, {"samples.csv": text}) == (
        f"timing/s01/samples.csv: {len(kept)} samples, expected {len(rows)}"
    )
    rows[5][-1] = "nan"
    text = to_csv(SAMPLE_COLUMNS, rows)
    assert artifact_error(simulation, {"samples.csv": text}) == (
        "timing/s01/samples.csv: row 7: elapsed_us is 'nan', "
        "expected a positive finite number"
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"speedup": math.nan})


def test_d13_somebody_else_on_the_card_decides_nothing(claim):
    busy = {"compute_processes": "2", "utilization_ratio": "0.97"}
    assert reason(claim, Laws(state=busy)) == ("inconclusive", Reason.COMPETING_WORK)
    unseen = statistics(claim, Laws(state={"compute_processes": ""}))["state"]
    assert (unseen["compute_processes"], unseen["missing"]) == (
        None,
        ["compute_processes"],
    )
    # Without it a receipt stays provisional.
    assert not state.is_complete(unseen)
    assert state.is_complete(statistics(claim, Laws())["state"])


@pytest.mark.parametrize("seed", range(6))
def test_d14_identical_code_does_not_win(claim, seed):
    said = statistics(claim, Laws(candidate=10.0, round_sd=0.004), seed=seed)
    assert said["outcome"] not in ("faster", "slower")
    assert said["null_outcome"] not in ("faster", "slower")


def test_d14_difference_must_exceed_what_identical_code_shows(claim):
    """1.013 is beyond the margin, and within what the baseline shows of itself."""
    simulation = Simulation(claim, Laws(candidate=10 / 1.013, **QUIET))
    steady, verdict = derived(simulation)
    assert (steady["statistics"]["outcome"], verdict.status) == ("faster", "pass")
    for row in simulation.samples:
        if (row[0], row[3]) == ("null", "again"):
            row[-1] *= math.exp(0.03 if row[1] % 2 else -0.03)
    text = to_csv(SAMPLE_COLUMNS, simulation.samples)
    noisy = derived(simulation, {"samples.csv": text})[0]["statistics"]
    assert noisy["speedup"] == steady["statistics"]["speedup"]
    assert noisy["null"]["upper"] > 1.013
    assert (noisy["outcome"], noisy["null_outcome"]) == ("inconclusive",) * 2


def tf32(values):
    """Rounded to a mantissa of 10 bits, to nearest even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded_bits = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return (rounded_bits & np.uint32(0xFFFFE000)).view(np.float32)


def test_d15_tf32_does_not_pass_for_fp32(document):
    """256 x 1024 x 256 of N(0, 1); tolerances from n * eps refuse it."""
    draw = np.random.default_rng(15)
    a = draw.normal(size=(256, 1024)).astype(np.float32)
    b = draw.normal(size=(1024, 256)).astype(np.float32)
    oracle = (a.astype(np.float64) @ b.astype(np.float64)).ravel()
    size, bound = oracle.size, 1024 * 2.0**-24
    plain, rounded_inputs = (a @ b).ravel(), (tf32(a) @ tf32(b)).ravel()

    def failures(actual, tolerance):
        chosen = Tolerance(atol=tolerance, rtol=tolerance)
        return compare(actual, oracle, chosen).failures

    assert failures(plain, bound) == 0
    assert failures(rounded_inputs, bound) > 0.7 * size
    assert failures(rounded_inputs, 1e-4) > 0.7 * size
    # What lets it pass is a tolerance that no float32 needs.
    assert 0 < failures(rounded_inputs, 1e-2) < 0.01 * size
    assert unknown(refusal_of(document, "candidate.math", "tf32"), "candidate.math")


@pytest.mark.parametrize("field", ["device", "state"])
@pytest.mark.parametrize("other", ["0", "GPU-0f", "MIG-0f", "0000:3b:00.0"])
def test_d19_state_of_another_device_is_refused(claim, field, other):
    simulation = Simulation(claim, Laws())
    facts = simulation.facts()
    (facts if field == "device" else facts["conditions"])["gpu_uuid"] = other
    assert artifact_error(simulation, facts=facts) == (
        f"timing/s01: measured on {other}, expected {GPU_UUID}"
    )


@pytest.mark.parametrize("value", ["[N/A]", "[Not Supported]", "ERR!", " 16380\n5", ""])
def test_d20_answer_that_is_no_number_is_none_and_never_zero(claim, value):
    fields = ("sm_clock_mhz", "power_w", "compute_processes")
    seen = statistics(claim, Laws(state=dict.fromkeys(fields, value)))["state"]
    assert (seen["power_max_w"], seen["sm_clock_max_mhz"]) == (None, None)
    assert seen["compute_processes"] is None
    assert seen["missing"] == ["sm_clock_mhz", "compute_processes"]
    assert not state.is_complete(seen)


def test_d20_rows_of_another_device_and_other_headers_do_not_pass_for_ours(claim):
    simulation = Simulation(claim, Laws())
    first, *rows = state_csv(2.0).splitlines()
    turned = ",".join(reversed(first.split(",")))
    message = artifact_error(simulation, {"state.csv": "\n".join([turned, *rows])})
    assert message.startswith("timing/s01/state.csv: columns are ['throttle_reasons', ")
    # A row too many columns long is of a query that asked for something else.
    torn = "\n".join([first, *rows, "GPU 1, 0 W"]) + "\n"
    found, verdict = derived(simulation, {"state.csv": torn})
    seen = found["statistics"]["state"]
    assert (seen["power_max_w"], seen["sm_clock_min_mhz"]) == (120.5, 1980)
    assert verdict.status == "pass"
