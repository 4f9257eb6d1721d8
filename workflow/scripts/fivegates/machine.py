"""Which backend this machine has, and what is installed on it."""

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version

from fivegates.backend import Backend, Device
from fivegates.errors import ToolError

PACKAGES = (
    "cupy-cuda12x",
    "cupy-cuda13x",
    "jsonschema",
    "numpy",
    "nvidia-ml-py",
    "pandas",
    "scipy",
    "snakemake",
)


def identify(wanted: str) -> Backend:
    """The backend that answers to `auto`, `cuda` or `host`.

    ToolError when cuda is asked for and no device answers.
    """
    device = None if wanted == "host" else _device()
    if wanted == "cuda" and device is None:
        raise ToolError(
            "config.backend is 'cuda': no device answers, expected a driver, an NVIDIA "
            "GPU and the extra cuda12 or cuda13"
        )
    return Backend(
        kind="host" if device is None else "cuda",
        device=device,
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=_packages(),
    )


def memory_bytes() -> int:
    """Physical memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _device() -> Device | None:
    if importlib.util.find_spec("cupy") is None:
        return None
    from fivegates import device

    return device.identify() if device.present() else None


def _packages() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
