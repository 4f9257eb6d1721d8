"""NVML by UUID: a fake of it stands where a device would."""

import csv
import ctypes
import importlib.util
import json
import os
import sys
import threading
import types
import uuid
from pathlib import Path

import pynvml
import pytest

import sample_state
from fivegates import nvml, state
from fivegates.errors import ToolError
from fivegates.state import StateRow

# Nearly all of their bytes are zero, and CuPy's own `uuid` ends at the first of those.
FIRST, SECOND, SLICE = (str(uuid.UUID(int=n)) for n in (1, 2, 3))
HANDLES = {
    f"GPU-{FIRST}": (0, False),
    f"GPU-{SECOND}": (1, False),
    f"MIG-{SLICE}": (1, True),
}
ANSWERS = {
    "ClockInfo": lambda gpu, kind: (345, 1980)[gpu[0]] + kind,
    "MaxClockInfo": lambda _, kind: 2000 + kind,
    "Temperature": lambda gpu, _: 30 + gpu[0],
    "PowerUsage": lambda _: 124_524,
    "PowerManagementLimit": lambda _: 700_000,
    "PerformanceState": lambda _: 0,
    "UtilizationRates": lambda _: types.SimpleNamespace(gpu=50),
    "ComputeRunningProcesses": lambda gpu: [object()] * (1 if gpu[1] else 3),
    "CurrentClocksEventReasons": lambda _: 0x4 | 0x8,
    "PersistenceMode": lambda _: 1,
    "EccMode": lambda _: [0, 1],
    "TotalEccErrors": lambda *_: 0,
    "MigMode": lambda _: [1, 1],
}


class Fake(types.ModuleType):
    """Two GPUs, the second with a MIG slice; what is in `broken` is an error.

    A handle is (ordinal, whether it is a slice).
    """

    def __init__(self, *broken, **answers):
        super().__init__("pynvml")
        self.broken, self.answers, self.open = broken, {**ANSWERS, **answers}, 0

    def nvmlInit(self):  # noqa: N802 - as NVML spells it
        self.open += 1

    def nvmlShutdown(self):  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, name):  # noqa: N802
        if name not in HANDLES:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return HANDLES[name]

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle):  # noqa: N802
        assert handle[1]
        return (handle[0], False)

    def __getattr__(self, name):
        """Constants are NVML's own; a query answers or is an error."""
        query = name.removeprefix("nvmlDeviceGet")
        if query == name:
            return getattr(pynvml, name)
        if query in self.broken:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return self.answers[query]


@pytest.fixture
def fake(monkeypatch):
    """Put a fake in place of the module, with these queries broken."""

    def inject(*broken, **answers):
        module = Fake(*broken, **answers)
        monkeypatch.setattr(nvml, "pynvml", module)
        return module

    return inject


def read(name):
    with nvml.device(name) as handles:
        return nvml.read_state(handles, 1.23456), nvml.read_conditions(handles)


def test_device_is_found_by_uuid_and_not_by_ordinal(fake):
    """corpus D19: the second card has another clock than the first."""
    fake()
    clock = pynvml.NVML_CLOCK_SM
    assert read(f"GPU-{FIRST}")[0].sm_clock_mhz == 345 + clock
    assert read(f"GPU-{SECOND}")[0].sm_clock_mhz == 1980 + clock


def test_one_reading_holds_every_quantity_with_its_unit(fake):
    fake()
    found, conditions = read(f"GPU-{SECOND}")
    assert found == StateRow(
        elapsed_s=1.2346,
        sm_clock_mhz=1980 + pynvml.NVML_CLOCK_SM,
        memory_clock_mhz=1980 + pynvml.NVML_CLOCK_MEM,
        temperature_c=31,
        power_w=124.524,
        pstate=0,
        utilization_ratio=0.5,
        compute_processes=3,
        throttle_reasons="sw-power-cap+hw-slowdown",
    )
    assert conditions == {
        "sm_clock_max_mhz": 2000 + pynvml.NVML_CLOCK_SM,
        "memory_clock_max_mhz": 2000 + pynvml.NVML_CLOCK_MEM,
        "power_limit_w": 700.0,
        "persistence_mode": True,
        "ecc_mode": False,
        "ecc_uncorrected_errors": 0,
        "mig_mode": True,
        "throttle_reasons_reported": True,
    }


def test_mig_slice_has_the_clocks_of_its_gpu_and_processes_of_its_own(fake):
    """A slice has no clock and no power: those are asked of the GPU around it."""
    fake()
    found, _ = read(f"MIG-{SLICE}")
    assert found.sm_clock_mhz == 1980 + pynvml.NVML_CLOCK_SM
    assert found.power_w == 124.524
    assert found.compute_processes == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("ClockInfo", "sm_clock_mhz"),
        ("ClockInfo", "memory_clock_mhz"),
        ("Temperature", "temperature_c"),
        ("PowerUsage", "power_w"),
        ("PerformanceState", "pstate"),
        ("UtilizationRates", "utilization_ratio"),
        ("ComputeRunningProcesses", "compute_processes"),
        ("CurrentClocksEventReasons", "throttle_reasons"),
    ],
)
def test_quantity_that_nvml_refuses_is_none_and_the_others_stay(fake, query, field):
    """corpus D20"""
    fake(query)
    found, _ = read(f"GPU-{FIRST}")
    lost = {
        name for name in StateRow.__dataclass_fields__ if getattr(found, name) is None
    }
    assert field in lost
    assert len(lost) == (2 if query == "ClockInfo" else 1)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("MaxClockInfo", "sm_clock_max_mhz"),
        ("MaxClockInfo", "memory_clock_max_mhz"),
        ("PowerManagementLimit", "power_limit_w"),
        ("PersistenceMode", "persistence_mode"),
        ("EccMode", "ecc_mode"),
        ("TotalEccErrors", "ecc_uncorrected_errors"),
        ("MigMode", "mig_mode"),
    ],
)
def test_condition_that_nvml_refuses_is_none(fake, query, field):
    fake(query)
    assert read(f"GPU-{FIRST}")[1][field] is None


def test_reasons_that_nvml_refuses_are_said_not_to_be_reported(fake):
    fake("CurrentClocksEventReasons")
    assert read(f"GPU-{FIRST}")[1]["throttle_reasons_reported"] is False


def test_no_reason_is_an_empty_text_and_not_none(fake):
    """0x1 says that the GPU is idle."""
    fake(CurrentClocksEventReasons=lambda _: 0x1)
    found, conditions = read(f"GPU-{FIRST}")
    assert found.throttle_reasons == ""
    assert conditions["throttle_reasons_reported"] is True


def test_nvml_is_shut_down_also_after_an_error(fake):
    module = fake()

    def fail():
        with nvml.device(f"GPU-{FIRST}"):
            assert module.open == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert module.open == 0


def test_device_that_nvml_does_not_list_is_one_error(fake):
    fake()
    with pytest.raises(ToolError) as error, nvml.device("GPU-none"):
        pass
    assert str(error.value) == (
        "NVML: Not Found for GPU-none, expected the CUDA device to be listed"
    )


@pytest.mark.parametrize(
    ("digits", "name"),
    [(FIRST, f"GPU-{FIRST}"), (SECOND, f"GPU-{SECOND}"), (SLICE, f"MIG-{SLICE}")],
)
def test_uuid_of_cuda_gets_the_prefix_under_which_nvml_lists_it(fake, digits, name):
    fake()
    assert nvml.listed_uuid(digits) == name


def test_uuid_that_nvml_does_not_list_is_one_error(fake):
    fake()
    with pytest.raises(ToolError, match=r"^NVML: Not Found for MIG-none, expected"):
        nvml.listed_uuid("none")


@pytest.mark.parametrize("text", ["NVIDIA H200", b"NVIDIA H200"])
def test_text_of_older_bindings_is_text(text):
    assert nvml.text(text) == "NVIDIA H200"


class Driver:
    """CUDA's driver where one device is visible, which is its device 0."""

    def __init__(self, visible):
        self.visible = uuid.UUID(visible).bytes

    def cuInit(self, flags):  # noqa: N802
        return 0 if flags == 0 else 1

    def cuDeviceGet(self, handle, ordinal):  # noqa: N802
        handle._obj.value = 70 + ordinal
        return 0 if ordinal == 0 else 101

    def cuDeviceGetUuid_v2(self, found, handle):  # noqa: N802
        found[:] = self.visible
        return 0 if handle.value == 70 else 101


def device_module(monkeypatch, visible, ordinal=0):
    """fivegates.device over a driver that sees one device."""
    runtime = types.ModuleType("cupy.cuda.runtime")
    monkeypatch.setattr(ctypes, "CDLL", {"libcuda.so.1": Driver(visible)}.__getitem__)
    cuda = types.ModuleType("cupy.cuda")
    cuda.runtime = runtime
    cuda.Device = lambda: types.SimpleNamespace(id=ordinal)
    cupy = types.ModuleType("cupy")
    cupy.cuda = cuda
    for module in (cupy, cuda, runtime):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    path = nvml.__file__.replace("nvml.py", "device.py")
    spec = importlib.util.spec_from_file_location("device_of_a_fake", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("visible", "name"), [(SECOND, f"GPU-{SECOND}"), (SLICE, f"MIG-{SLICE}")]
)
def test_device_0_of_cuda_is_whatever_was_made_visible(
    fake, monkeypatch, visible, name
):
    """corpus D19: CUDA_VISIBLE_DEVICES=1, or a MIG slice's UUID in it."""
    fake()
    device = device_module(monkeypatch, visible)
    assert device.current_uuid() == name


def test_device_that_the_driver_does_not_know_is_one_error(fake, monkeypatch):
    fake()
    device = device_module(monkeypatch, FIRST, ordinal=3)
    with pytest.raises(ToolError) as error:
        device.current_uuid()
    assert str(error.value) == (
        "libcuda.so.1: status 101 for the UUID of device 3, expected 0"
    )


def sampled(folder, monkeypatch, stdin):
    """state.csv, as derived, and conditions.json of the script beside a session."""
    monkeypatch.setattr(sys, "stdin", stdin)
    arguments = ["--gpu-uuid", f"MIG-{SLICE}", "--folder", str(folder)]
    interval = ["--zero-s", "0.0", "--interval-s", "0.01"]
    assert sample_state.main([*arguments, *interval]) == 0
    conditions = json.loads((folder / "conditions.json").read_text())
    text = (folder / "state.csv").read_text()
    times = [float(row["elapsed_s"]) for row in csv.DictReader(text.splitlines())]
    span_s = (times[0], times[-1])
    return state.derive(text, conditions, span_s, "state.csv"), conditions


def test_sampler_ends_when_its_standard_input_does(fake, tmp_path, monkeypatch):
    module = fake()
    with Path(os.devnull).open() as stdin:
        found, conditions = sampled(tmp_path, monkeypatch, stdin)
    assert conditions["gpu_uuid"] == f"MIG-{SLICE}"
    assert (found["readings"], found["readings_in_rounds"]) == (1, 1)
    assert state.is_complete(found)
    assert found["throttle_reasons"] == ["hw-slowdown", "sw-power-cap"]
    assert module.open == 0


def test_sampler_reads_on_until_then(fake, tmp_path, monkeypatch):
    fake()
    reading, writing = os.pipe()
    timer = threading.Timer(0.3, os.close, [writing])
    timer.start()
    with os.fdopen(reading) as stdin:
        found, _ = sampled(tmp_path, monkeypatch, stdin)
    timer.join()
    assert found["readings"] > 3


def test_sampler_of_a_device_that_says_nothing_is_no_crash(fake, tmp_path, monkeypatch):
    """corpus D20"""
    fake(*ANSWERS)
    with Path(os.devnull).open() as stdin:
        found, _ = sampled(tmp_path, monkeypatch, stdin)
    assert found["missing"] == list(state.REQUIRED)
    assert {found[k] for k in ("sm_clock_max_mhz", "power_max_w")} == {None}
    assert not state.is_complete(found)
