"""Who the device is and what state it is in: CUDA and NVML, joined by UUID."""

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import pynvml
from cupy.cuda import runtime

from fivegates.backend import Device, StateRow
from fivegates.errors import ToolError

THROTTLE_REASONS = {
    "sw-power-cap": pynvml.nvmlClocksEventReasonSwPowerCap,
    "hw-slowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "sync-boost": pynvml.nvmlClocksEventReasonSyncBoost,
    "sw-thermal-slowdown": pynvml.nvmlClocksEventReasonSwThermalSlowdown,
    "hw-thermal-slowdown": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "hw-power-brake": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}


def present() -> bool:
    """Whether a CUDA device answers."""
    try:
        return int(runtime.getDeviceCount()) > 0
    except runtime.CUDARuntimeError:
        return False


def current_uuid() -> str:
    """UUID of the current CUDA device as NVML spells it, whatever its ordinal is."""
    raw = runtime.getDeviceProperties(cupy.cuda.Device().id)["uuid"]
    return f"GPU-{uuid.UUID(bytes=bytes(raw)[:16])}"


def current_l2_bytes() -> int:
    """L2 size that the current device reports."""
    return int(cupy.cuda.Device().attributes["L2CacheSize"])


@contextmanager
def nvml_handle(gpu_uuid: str) -> Iterator[Any]:
    """NVML handle of the device with this UUID; ToolError when NVML has none."""
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(gpu_uuid)
    except pynvml.NVMLError as error:
        raise ToolError(
            f"NVML: {error} for {gpu_uuid}, expected the CUDA device to be listed"
        ) from None
    try:
        yield handle
    finally:
        pynvml.nvmlShutdown()


def identify() -> Device:
    """Identity and limits of the current device, from CUDA and NVML."""
    device = cupy.cuda.Device()
    attributes, capability = device.attributes, device.compute_capability
    free_bytes, memory_bytes = runtime.memGetInfo()
    gpu_uuid = current_uuid()
    with nvml_handle(gpu_uuid) as handle:
        return Device(
            gpu_uuid=gpu_uuid,
            gpu_name=_text(pynvml.nvmlDeviceGetName(handle)),
            compute_capability=f"{capability[:-1]}.{capability[-1]}",
            driver=_text(pynvml.nvmlSystemGetDriverVersion()),
            cuda_driver_api=_version(runtime.driverGetVersion()),
            cuda_runtime=_version(runtime.runtimeGetVersion()),
            l2_bytes=attributes["L2CacheSize"],
            memory_bytes=memory_bytes,
            free_bytes=free_bytes,
            memory_bus_bits=attributes["GlobalMemoryBusWidth"],
            memory_clock_mhz=_maybe(
                lambda: pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_MEM)
            ),
            multiprocessors=attributes["MultiProcessorCount"],
            power_limit_w=_maybe(
                lambda: pynvml.nvmlDeviceGetPowerManagementLimit(handle) / 1000
            ),
        )


def read_state(handle: Any, elapsed_s: float) -> StateRow:
    """One reading; a quantity that the device does not report is None, never 0."""
    reasons = _maybe(lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    return StateRow(
        elapsed_s=round(elapsed_s, 4),
        sm_clock_mhz=_maybe(
            lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        ),
        memory_clock_mhz=_maybe(
            lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)
        ),
        temperature_c=_maybe(
            lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
        ),
        power_w=_maybe(lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000),
        pstate=_maybe(lambda: pynvml.nvmlDeviceGetPerformanceState(handle)),
        utilization_ratio=_maybe(
            lambda: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100
        ),
        compute_processes=_maybe(
            lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle))
        ),
        throttle_reasons=None
        if reasons is None
        else "+".join(name for name, bit in THROTTLE_REASONS.items() if reasons & bit),
    )


class StateSampler:
    """Reads the state of a device from a thread of its own until it is left."""

    def __init__(self, gpu_uuid: str, interval_s: float) -> None:
        """Sample the device with this UUID every `interval_s` seconds."""
        self._uuid = gpu_uuid
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.rows: list[StateRow] = []

    def __enter__(self) -> "StateSampler":
        """Start sampling."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take one last reading and stop."""
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        start = time.monotonic()
        with nvml_handle(self._uuid) as handle:
            while not self._stop.is_set():
                self.rows.append(read_state(handle, time.monotonic() - start))
                self._stop.wait(self._interval_s)
            self.rows.append(read_state(handle, time.monotonic() - start))


def _maybe(read: Any) -> Any:
    try:
        return read()
    except pynvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _version(encoded: int) -> str:
    return f"{encoded // 1000}.{encoded % 1000 // 10}"
