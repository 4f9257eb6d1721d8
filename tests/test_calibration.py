"""What a GPU's own tools said of the same launches, and what the docs make of it."""

import json
import re
from functools import cache

import pytest

from conftest import ROOT
from planted import PLANTED

DATA = ROOT / "tests/data/calibration"
TEXT = (ROOT / "docs/host.md").read_text()


@cache
def calibration():
    return json.loads((DATA / "calibration.json").read_text())


@cache
def census():
    return json.loads((DATA / "census.json").read_text())["rows"]


def statuses(kernel):
    """A finding without a line is of the harness's copy of a buffer with gaps."""
    results = calibration()["kernels"][kernel.name].values()
    return {
        "pass" if r["status"] == "fail" and not r["lines"] else r["status"]
        for r in results
    }


def said(kernel):
    """What the four tools together say of a kernel."""
    found = statuses(kernel)
    for status in ("fail", "inconclusive", "timeout"):
        if status in found:
            return status
    return "pass"


ERRORS = [k for k in PLANTED if k.check is not None and k.level == "error"]


def count(status):
    return sum(said(kernel) == status for kernel in ERRORS)


def test_every_planted_kernel_was_run_on_the_device():
    assert set(calibration()["kernels"]) == {kernel.name for kernel in PLANTED}


@pytest.mark.parametrize("kernel", PLANTED, ids=lambda kernel: kernel.name)
def test_what_the_device_finds_the_host_has_planted(kernel):
    if kernel.check is None or kernel.level == "notice":
        assert said(kernel) == "pass"


def test_docs_count_what_the_device_found():
    sentence = (
        f"Of the {len(ERRORS)} kernels with a planted error its four tools fail "
        f"{count('fail')}, warn of {count('inconclusive')}, do not end on "
        f"{count('timeout')} that hang, and pass {count('pass')}"
    )
    assert sentence in " ".join(TEXT.split())
    assert calibration()["device"] in TEXT
    assert calibration()["date"] in TEXT


def test_docs_tell_of_the_race_that_gave_right_values():
    found = calibration()["recurrent"]["recurrent_single_buffer"]
    assert (found["launches"], found["distinct_outputs"]) == (20, 1)
    assert found["racecheck"]["status"] == "fail"
    (line,) = found["racecheck"]["lines"]
    text = " ".join(TEXT.split())
    assert f"{found['launches']} launches of {found['blocks']} blocks" in text
    assert f"within {found['max_abs_error']:.1e} of the float64 reference" in text
    assert f"racecheck fails it at line {line}" in text
    source = (ROOT / "tests/kernels/recurrent_single_buffer.cu").read_text()
    assert "// FAULT" in source.splitlines()[line - 1]


def test_census_agrees_with_the_counters_of_the_device():
    assert len(census()) >= 20
    for row in census():
        assert row["host_requests"] == row["device_requests"], row
        if row["access"] != "shared load":
            assert row["host_units"] == row["device_units"], row
        assert 0.98 < row["units_ratio"] <= 1


def test_docs_say_where_census_and_counters_differ():
    least = min(row["units_ratio"] for row in census())
    differing = sum(row["host_units"] != row["device_units"] for row in census())
    sentence = (
        f"agree in {len(census()) - differing} of {len(census())} rows; for shared "
        f"loads the device counts up to {100 * (1 / least - 1):.1f} % more passes"
    )
    assert sentence in " ".join(TEXT.split())


def test_docs_give_the_times_that_were_measured():
    results = json.loads((ROOT / "benchmarks/results/host_speed.json").read_text())
    for key, value in results["found"].items():
        assert value <= results["limits"][key]
        assert re.search(rf"\| {re.escape(str(value))}\b", TEXT), key
