"""Print the extra that fits this machine: cuda13, cuda12, or host without a GPU.

Standard library only: it runs before anything is installed.
"""

import ctypes
import sys

LIBRARIES = ("libcuda.so.1", "nvcuda.dll")


def driver_version() -> int:
    """CUDA version that the driver supports, as 1000 * major + 10 * minor; else 0."""
    for name in LIBRARIES:
        try:
            cuda = ctypes.CDLL(name)
        except OSError:
            continue
        version, count = ctypes.c_int(0), ctypes.c_int(0)
        if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
            cuda.cuDriverGetVersion(ctypes.byref(version))
            return version.value if count.value else 0
    return 0


def fitting_extra(version: int) -> str:
    """The newest toolkit that a driver of this version runs."""
    if version >= 13000:
        return "cuda13"
    return "cuda12" if version >= 12000 else "host"


def main() -> int:
    print(fitting_extra(driver_version()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
