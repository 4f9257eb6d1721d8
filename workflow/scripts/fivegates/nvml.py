"""What NVML says of one device, found by UUID; an ordinal may mean another card."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pynvml

from fivegates.errors import ToolError
from fivegates.state import StateRow

PREFIXES = ("GPU-", "MIG-")
THROTTLE_REASONS = {
    "applications-clocks-setting": (
        pynvml.nvmlClocksEventReasonApplicationsClocksSetting
    ),
    "sw-power-cap": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hw-slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "sync-boost": pynvml.nvmlClocksEventReasonSyncBoost,
    "sw-thermal-slowdown": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "hw-thermal-slowdown": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "hw-power-brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Handles:
    """The GPU, which has clocks and power, and what runs: itself or a MIG slice."""

    gpu: Any
    slice: Any


@contextmanager
def device(gpu_uuid: str) -> Iterator[Handles]:
    """Handles of the device with this UUID; ToolError when NVML has none."""
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(gpu_uuid)
        mig = gpu_uuid.startswith("MIG-")
        gpu = (
            pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            if mig
            else handle
        )
    except pynvml.NVMLError as error:
        raise ToolError(
            f"NVML: {error} for {gpu_uuid}, expected the CUDA device to be listed"
        ) from None
    try:
        yield Handles(gpu=gpu, slice=handle)
    finally:
        pynvml.nvmlShutdown()


def listed_uuid(digits: str) -> str:
    """The UUID with the prefix under which NVML lists it: a whole GPU or a MIG slice.

    ToolError when it lists neither.
    """
    for prefix in PREFIXES:
        try:
            with device(prefix + digits):
                return prefix + digits
        except ToolError as error:
            last = error
    raise last


def read_state(handles: Handles, elapsed_s: float) -> StateRow:
    """One reading; a quantity that the device does not report is None, never 0."""
    gpu = handles.gpu
    reasons = maybe(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(gpu))
    return StateRow(
        elapsed_s=round(elapsed_s, 4),
        sm_clock_mhz=maybe(
            lambda: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)
        ),
        memory_clock_mhz=maybe(
            lambda: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_MEM)
        ),
        temperature_c=maybe(
            lambda: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU)
        ),
        power_w=maybe(lambda: pynvml.nvmlDeviceGetPowerUsage(gpu) / 1000),
        pstate=maybe(lambda: pynvml.nvmlDeviceGetPerformanceState(gpu)),
        utilization_ratio=maybe(
            lambda: pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100
        ),
        compute_processes=maybe(
            lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses(handles.slice))
        ),
        throttle_reasons=None
        if reasons is None
        else "+".join(name for name, bit in THROTTLE_REASONS.items() if reasons & bit),
    )


def read_conditions(handles: Handles) -> dict[str, Any]:
    """What does not change in a session; None where it is not reported."""
    gpu = handles.gpu

    def clock(kind: int) -> Any:
        return maybe(lambda: pynvml.nvmlDeviceGetMaxClockInfo(gpu, kind))

    uncorrected = (
        gpu,
        pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
        pynvml.NVML_VOLATILE_ECC,
    )
    return {
        "sm_clock_max_mhz": clock(pynvml.NVML_CLOCK_SM),
        "memory_clock_max_mhz": clock(pynvml.NVML_CLOCK_MEM),
        "power_limit_w": maybe(
            lambda: pynvml.nvmlDeviceGetPowerManagementLimit(gpu) / 1000
        ),
        "persistence_mode": maybe(
            lambda: bool(pynvml.nvmlDeviceGetPersistenceMode(gpu))
        ),
        "ecc_mode": maybe(lambda: bool(pynvml.nvmlDeviceGetEccMode(gpu)[0])),
        "ecc_uncorrected_errors": maybe(
            lambda: pynvml.nvmlDeviceGetTotalEccErrors(*uncorrected)
        ),
        "mig_mode": maybe(lambda: bool(pynvml.nvmlDeviceGetMigMode(gpu)[0])),
        "throttle_reasons_reported": read_state(handles, 0).throttle_reasons
        is not None,
    }


def maybe(read: Callable[[], Any]) -> Any:
    """What `read` returns, or None where the device does not report it."""
    try:
        return read()
    except pynvml.NVMLError:
        return None


def text(value: str | bytes) -> str:
    """A string of NVML, which older bindings give as bytes."""
    return value.decode() if isinstance(value, bytes) else value
