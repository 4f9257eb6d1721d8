"""Find out where to judge the claim: an NVIDIA device that answers, or the host."""

import argparse
import importlib.util
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fivegates import operations
from fivegates.backend import Backend
from fivegates.claim import Claim, require_memory
from fivegates.errors import ArtifactError, ClaimError, ToolError
from fivegates.gate import ROOT, guarded
from fivegates.schema import check
from fivegates.store import Store, canonical, read_json

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


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--claim", type=Path, required=True, help="claim.json")
    parser.add_argument("--backend", choices=["auto", "cuda", "host"], required=True)
    parser.add_argument("--output", type=Path, required=True, help="backend.json")
    return parser.parse_args(argv)


def packages() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def identify(wanted: str) -> Backend:
    """The backend that answers; ToolError when cuda is asked for and does not."""
    device = None
    if wanted != "host" and importlib.util.find_spec("cupy"):
        from fivegates import device as gpu

        device = gpu.identify() if gpu.present() else None
    if wanted == "cuda" and device is None:
        raise ToolError(
            "config.backend is 'cuda': no device answers, expected a driver, an NVIDIA "
            "GPU and the extra cuda12 or cuda13"
        )
    return Backend(
        kind="host" if device is None else "cuda",
        device=device,
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        packages=packages(),
    )


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    frozen = read_json(args.claim)
    check(frozen, "frozen_claim", str(args.claim), ArtifactError)
    claim = Claim.from_dict(frozen)
    backend = identify(args.backend)
    host_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    device = backend.device
    try:
        require_memory(
            claim,
            operations.load(ROOT, claim.operation),
            l2_bytes=0 if device is None else device.l2_bytes,
            memory_bytes=host_bytes if device is None else device.memory_bytes,
        )
    except ClaimError as error:
        raise ClaimError(f"config/claims/{claim.name}.yaml: {error}") from None
    data = canonical(backend.to_dict())
    Store(args.results).publish(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
