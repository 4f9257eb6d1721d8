"""The device's state: what NVML and its tools write is read, or said to be missing."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.errors import ArtifactError
from fivegates.state import (
    REQUIRED,
    STATE_COLUMNS,
    THROTTLING,
    derive,
    is_complete,
    lock_commands,
    other_processes,
    slowed,
    unlocked_cost_ratio,
)
from trees import (
    V2_SUPPORTED,
    add_session,
    claim_of,
    copied,
    forge,
    honest,
    mend,
    verified,
)

ROW = {
    "elapsed_s": "1.0",
    "sm_clock_mhz": "1980",
    "memory_clock_mhz": "3201",
    "temperature_c": "36",
    "power_w": "124.5",
    "pstate": "0",
    "utilization_ratio": "0.99",
    "compute_processes": "1",
    "throttle_reasons": "",
}
CONDITIONS = {
    "gpu_uuid": "GPU-1",
    "sm_clock_max_mhz": 1980,
    "memory_clock_max_mhz": 3201,
    "persistence_mode": True,
    "throttle_reasons_reported": True,
}
# What NVML's tools print where a quantity is not there, and what breaks a reader.
UNREAD = ["", "[N/A]", "[Not Supported]", "ERR!", "16380\n5", "nan", "inf", "N/A"]
SPAN_S = (0.5, 2.0)
READ = {
    "sm_clock_mhz": ("sm_clock_min_mhz", "sm_clock_max_mhz"),
    "memory_clock_mhz": ("memory_clock_min_mhz", "memory_clock_max_mhz"),
    "temperature_c": ("temperature_max_c",),
    "power_w": ("power_max_w",),
    "compute_processes": ("compute_processes",),
}


def text(*rows, columns=STATE_COLUMNS):
    """state.csv of these rows, each a change of ROW."""
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**ROW, **row} for row in rows)
    return file.getvalue()


def state(*rows, **conditions):
    return derive(text(*rows), {**CONDITIONS, **conditions}, SPAN_S, "s01/state.csv")


def test_state_is_the_range_over_all_readings():
    found = state(
        {"elapsed_s": "0.1", "sm_clock_mhz": "1200", "power_w": "80.0"},
        {"temperature_c": "44"},
        {"elapsed_s": "2.5", "compute_processes": "0"},
    )
    assert found == {
        "readings": 3,
        "readings_in_rounds": 1,
        "longest_gap_s": 1.0,
        "missing": [],
        "sm_clock_min_mhz": 1200,
        "sm_clock_max_mhz": 1980,
        "memory_clock_min_mhz": 3201,
        "memory_clock_max_mhz": 3201,
        "temperature_max_c": 44,
        "power_max_w": 124.5,
        "compute_processes": 1,
        "throttle_reasons": [],
        "clock_policy": "observed",
    }
    assert is_complete(found)


@pytest.mark.parametrize("cell", UNREAD, ids=repr)
@pytest.mark.parametrize("column", READ)
def test_quantity_that_was_not_reported_is_none_and_never_0(column, cell):
    """corpus D20"""
    found = state({column: cell}, {column: cell})
    for key in READ[column]:
        assert found[key] is None
    assert found["missing"] == [column] * (column in REQUIRED)
    assert is_complete(found) == (column not in REQUIRED)


@pytest.mark.parametrize("cell", UNREAD, ids=repr)
@pytest.mark.parametrize("column", READ)
def test_one_reading_without_a_quantity_leaves_the_others(column, cell):
    """corpus D20"""
    found = state({column: cell}, {})
    for key in READ[column]:
        assert found[key] == float(ROW[column])
    assert is_complete(found)


@pytest.mark.parametrize("cell", UNREAD, ids=repr)
def test_reading_without_a_time_is_not_in_the_rounds(cell):
    found = state({"elapsed_s": cell})
    assert (found["readings"], found["readings_in_rounds"]) == (1, 0)
    assert not is_complete(found)


def test_reasons_that_are_not_reported_are_missing_and_not_none():
    """An empty field says that there were none; only the device knows which it is."""
    found = state({}, throttle_reasons_reported=False)
    assert found["missing"] == ["throttle_reasons"]
    assert not is_complete(found)
    assert is_complete(state({}))


def test_all_that_is_missing_is_named():
    found = state(
        {"sm_clock_mhz": "ERR!", "compute_processes": "[N/A]"},
        throttle_reasons_reported=False,
    )
    assert found["missing"] == list(REQUIRED)


def test_state_without_readings_is_not_complete():
    found = derive(text(), CONDITIONS, SPAN_S, "s01/state.csv")
    assert (found["readings"], found["missing"]) == (0, list(REQUIRED[:2]))
    assert not is_complete(found)


@pytest.mark.parametrize(
    "header",
    [
        STATE_COLUMNS[::-1],
        STATE_COLUMNS[1:],
        (*STATE_COLUMNS, "index"),
        ("index", *STATE_COLUMNS[1:]),
    ],
    ids=["other order", "no time", "one more", "index"],
)
def test_other_columns_are_refused(header):
    """corpus D20: a value in another column would be believed."""
    rows = f"{','.join(header)}\n"
    with pytest.raises(ArtifactError) as error:
        derive(rows, CONDITIONS, SPAN_S, "s01/state.csv")
    assert str(error.value) == (
        f"s01/state.csv: columns are {list(header)}, expected {STATE_COLUMNS}"
    )


def test_empty_file_is_refused():
    with pytest.raises(ArtifactError, match=r"s01/state.csv: columns are None, expect"):
        derive("", CONDITIONS, SPAN_S, "s01/state.csv")


@pytest.mark.parametrize("row", ["1.0", "1.0,1980", "1.0" + "," * 20], ids=repr)
def test_row_of_another_length_is_no_crash(row):
    rows = f"{','.join(STATE_COLUMNS)}\n{row}\n"
    found = derive(rows, CONDITIONS, SPAN_S, "s01/state.csv")
    assert found["readings"] == 1
    assert "compute_processes" in found["missing"]


cells = st.text(st.characters(exclude_characters="\r"), max_size=8)


@given(st.lists(st.lists(cells, min_size=9, max_size=9), max_size=4))
def test_no_content_is_a_crash_or_a_number_that_is_none(rows):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([STATE_COLUMNS, *rows])
    found = derive(file.getvalue(), CONDITIONS, SPAN_S, "s01/state.csv")
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("reason", THROTTLING)
def test_fault_that_slows_the_device_is_named_in_any_reading(reason):
    found = state({}, {"throttle_reasons": f"sw-power-cap+{reason}"}, {})
    assert found["throttle_reasons"] == sorted(["sw-power-cap", reason])
    assert slowed(found) == [reason]


def test_power_cap_is_no_fault():
    assert slowed(state({"throttle_reasons": "sw-power-cap"})) == []


def test_clocks_that_someone_set_are_seen():
    found = state({"throttle_reasons": "applications-clocks-setting"})
    assert found["clock_policy"] == "locked"
    assert slowed(found) == []


@pytest.mark.parametrize(("seen", "others"), [(None, 0), (0, 0), (1, 0), (3, 2)])
def test_own_process_is_not_counted_among_the_others(seen, others):
    assert other_processes({"compute_processes": seen}) == others


def test_lock_is_undone_by_what_is_told_beside_it():
    found = lock_commands(
        "GPU-1", {**CONDITIONS, "persistence_mode": False}, "observed"
    )
    assert found == {
        "lock": [
            "nvidia-smi -i GPU-1 -pm 1",
            "nvidia-smi -i GPU-1 -lgc 1980,1980",
            "nvidia-smi -i GPU-1 -lmc 3201,3201",
        ],
        "restore": [
            "nvidia-smi -i GPU-1 -rgc",
            "nvidia-smi -i GPU-1 -rmc",
            "nvidia-smi -i GPU-1 -pm 0",
        ],
    }


@pytest.mark.parametrize("persistence", [True, None])
def test_persistence_that_is_on_or_unknown_is_left_alone(persistence):
    found = lock_commands(
        "GPU-1", {**CONDITIONS, "persistence_mode": persistence}, "observed"
    )
    assert not any("-pm" in line for lines in found.values() for line in lines)


@pytest.mark.parametrize("clock", ["sm_clock_max_mhz", "memory_clock_max_mhz"])
def test_no_command_is_made_of_an_unknown_clock(clock):
    found = lock_commands("GPU-1", {**CONDITIONS, clock: None}, "observed")
    assert found == {"lock": [], "restore": []}


def test_clocks_that_are_locked_are_left_so():
    found = lock_commands("GPU-1", CONDITIONS, "locked")
    assert found == {"lock": [], "restore": []}


def test_state_that_was_not_read_for_longer_than_a_second_is_not_known():
    rows = [{"elapsed_s": str(second)} for second in (0.5, 1.0, 2.0)]
    whole = derive(text(*rows), CONDITIONS, (0.5, 2.0), "s01/state.csv")
    assert (whole["longest_gap_s"], is_complete(whole)) == (1.0, True)
    late = derive(text(*rows), CONDITIONS, (0.5, 3.1), "s01/state.csv")
    assert late["longest_gap_s"] == pytest.approx(1.1)
    assert not is_complete(late)


def test_clocks_are_locked_when_every_reading_says_so():
    locked = {"throttle_reasons": "applications-clocks-setting+sw-power-cap"}
    assert state(locked, locked)["clock_policy"] == "locked"
    assert state(locked, {})["clock_policy"] == "observed"


@pytest.mark.parametrize(
    ("width", "cycles", "cost"),
    [(1.02, None, None), (1.02, 1.0, None), (1.02, 1.02, 0.0), (1.02**3, 1.02, 2.0)],
)
def test_cost_of_unlocked_clocks_is_a_ratio_of_widths(width, cycles, cost):
    assert unlocked_cost_ratio(width, cycles) == (
        cost if cost is None else pytest.approx(cost)
    )


def column_of(data, column, cell):
    """state.csv with one cell in place of all of a column."""
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    return text(*({**row, column: cell} for row in rows)).encode()


def test_device_that_counts_not_even_the_session_itself_counts_nobody():
    found = state({"compute_processes": "0"}, {"compute_processes": "0"})
    assert found["missing"] == ["compute_processes"]
    assert found["compute_processes"] == 0
    assert not is_complete(found)
    assert is_complete(state({"compute_processes": "0"}, {}))


def without_readings(data, _):
    """state.csv as it would be, had its last reading been before the rounds."""
    rows = csv.DictReader(io.StringIO(data.decode()))
    return text(next(rows)).encode()


def clock_not_read(data, comparison):
    """blocks.csv without the SM clock of the first block of a comparison."""
    lines = data.decode().splitlines()
    row = next(n for n, line in enumerate(lines) if line.startswith(f"{comparison},"))
    lines[row] = f"{lines[row].rpartition(',')[0]},"
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize(
    ("file", "change", "column", "message"),
    [
        (
            "state.csv",
            without_readings,
            None,
            "nobody read the device's state during the rounds",
        ),
        (
            "blocks.csv",
            clock_not_read,
            "main",
            "the SM clock was not read in every block",
        ),
    ],
    ids=["no reading in the rounds", "a block without its clock"],
)
def test_session_that_nobody_looked_at_decides_nothing(
    tmp_path, file, change, column, message
):
    tree = copied(V2_SUPPORTED, tmp_path)
    raw = f"timing/s02.raw/{file}"
    mend(tree, claim_of(V2_SUPPORTED), {raw: lambda data: change(data, column)})
    honest(tree, "timing/s02", "timing", "roofline")
    verification = verified(tree)
    assert (verification.problems, verification.exit_status) == ((), 1)
    verdict = verification.receipt["verdict"]
    assert (verdict["status"], verdict["reason"]) == ("inconclusive", "state-unknown")
    assert verdict["message"] == f"timing/s02: {message}"
    gates = {gate["name"]: gate["reason"] for gate in verification.receipt["gates"]}
    assert gates["timing"] == "predecessor-failed"


@pytest.mark.parametrize("cell", ["[N/A]", "ERR!", "16380\n5", "0"], ids=repr)
@pytest.mark.parametrize("column", REQUIRED[:2])
def test_claim_whose_state_was_not_seen_stays_provisional(tmp_path, column, cell):
    """corpus D20: what was measured stands; it confirms nothing."""
    tree = copied(V2_SUPPORTED, tmp_path)
    add_session(tree, after_s=7200)
    assert verified(tree).receipt["status"] == "confirmed"
    file = "timing/s02.raw/state.csv"
    mend(tree, claim_of(V2_SUPPORTED), {file: lambda d: column_of(d, column, cell)})
    honest(tree, "timing/s02", "timing", "roofline")
    verification = verified(tree)
    assert (verification.problems, verification.exit_status) == ((), 0)
    assert verification.receipt["status"] == "provisional"


def test_state_of_another_device_is_no_evidence(tmp_path):
    """corpus D19: an ordinal may mean another card, a UUID does not."""
    tree = copied(V2_SUPPORTED, tmp_path)

    def other(record):
        record["result"]["measured"]["facts"]["conditions"]["gpu_uuid"] = "GPU-2"
        return record

    forge(tree, "timing/s01.json", other)
    (problem,) = verified(tree).problems
    assert problem.startswith("timing/s01: measured on GPU-2, expected GPU-")
    with pytest.raises(ArtifactError, match="timing/s01: measured on GPU-2, expected"):
        honest(tree, "timing/s01")
