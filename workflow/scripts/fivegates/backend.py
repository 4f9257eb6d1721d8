"""Where a claim is judged: an NVIDIA device, or the CPU of a machine without one."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["cuda", "host"]
BACKEND_SCHEMA = "fivegates:backend/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """Identity and limits of one GPU. Clocks in MHz, sizes in bytes, power in W."""

    gpu_uuid: str
    gpu_name: str
    compute_capability: str
    driver: str
    cuda_driver_api: str
    cuda_runtime: str
    l2_bytes: int
    memory_bytes: int
    free_bytes: int
    memory_bus_bits: int
    memory_clock_mhz: int | None
    multiprocessors: int
    power_limit_w: float | None

    @property
    def architecture(self) -> str:
        """Name of the compile target: `sm_90`."""
        return f"sm_{self.compute_capability.replace('.', '')}"

    @property
    def nominal_gb_s(self) -> float | None:
        """Peak of the memory bus: two transfers a clock over its width, in 1e9 B/s.

        None where the device does not report its clock or width.
        """
        if not (self.memory_clock_mhz and self.memory_bus_bits):
            return None
        return 2 * self.memory_clock_mhz * 1e6 * self.memory_bus_bits / 8 / 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class Backend:
    """The machine that answered. `device` is None on the host backend."""

    kind: Kind
    device: Device | None
    platform: str
    packages: Mapping[str, str]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Backend":
        """Read the schema-checked `backend.json`."""
        device = data["device"]
        return cls(
            kind=data["backend"],
            device=None if device is None else Device(**device),
            platform=data["platform"],
            packages=data["packages"],
        )

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-ready data."""
        return {
            "schema": BACKEND_SCHEMA,
            "backend": self.kind,
            "device": None if self.device is None else asdict(self.device),
            "platform": self.platform,
            "packages": dict(self.packages),
        }
