"""Who the device is: CUDA and NVML, joined by UUID."""

import ctypes
import uuid

import cupy
import pynvml
from cupy.cuda import runtime

from fivegates import nvml
from fivegates.backend import Device
from fivegates.errors import ToolError

DRIVER = "libcuda.so.1"


def present() -> bool:
    """Whether a CUDA device answers."""
    try:
        return int(runtime.getDeviceCount()) > 0
    except runtime.CUDARuntimeError:
        return False


def current_uuid() -> str:
    """UUID of the current CUDA device as NVML spells it, whatever its ordinal is.

    ToolError when the driver or NVML does not know the device.
    """
    return nvml.listed_uuid(str(uuid.UUID(bytes=_uuid(cupy.cuda.Device().id))))


def _uuid(ordinal: int) -> bytes:
    """What the driver says: CuPy's own `uuid` ends at the first byte that is zero."""
    driver = ctypes.CDLL(DRIVER)
    handle, found = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    failed = (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(handle), ordinal)
        or driver.cuDeviceGetUuid_v2(found, handle)
    )
    if failed:
        raise ToolError(
            f"{DRIVER}: status {failed} for the UUID of device {ordinal}, expected 0"
        )
    return bytes(found)


def identify() -> Device:
    """Identity and limits of the current device, from CUDA and NVML."""
    device = cupy.cuda.Device()
    attributes, capability = device.attributes, device.compute_capability
    free_bytes, memory_bytes = runtime.memGetInfo()
    gpu_uuid = current_uuid()
    with nvml.device(gpu_uuid) as handles:
        handle = handles.gpu
        return Device(
            gpu_uuid=gpu_uuid,
            gpu_name=nvml.text(pynvml.nvmlDeviceGetName(handle)),
            compute_capability=f"{capability[:-1]}.{capability[-1]}",
            driver=nvml.text(pynvml.nvmlSystemGetDriverVersion()),
            cuda_driver_api=_version(runtime.driverGetVersion()),
            cuda_runtime=_version(runtime.runtimeGetVersion()),
            l2_bytes=attributes["L2CacheSize"],
            memory_bytes=memory_bytes,
            free_bytes=free_bytes,
            memory_bus_bits=attributes["GlobalMemoryBusWidth"],
            memory_clock_mhz=nvml.maybe(
                lambda: pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_MEM)
            ),
            multiprocessors=attributes["MultiProcessorCount"],
            power_limit_w=nvml.maybe(
                lambda: pynvml.nvmlDeviceGetPowerManagementLimit(handle) / 1000
            ),
        )


def _version(encoded: int) -> str:
    return f"{encoded // 1000}.{encoded % 1000 // 10}"
