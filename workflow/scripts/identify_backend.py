"""Find out where to judge the claim: an NVIDIA device that answers, or the host."""

import argparse
import sys
from pathlib import Path

from fivegates import operations
from fivegates.claim import Claim, require_capacity
from fivegates.errors import ArtifactError, ClaimError
from fivegates.gate import ROOT, guarded
from fivegates.machine import identify, memory_bytes
from fivegates.schema import check
from fivegates.store import Store, canonical, read_json


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--claim", type=Path, required=True, help="claim.json")
    parser.add_argument("--backend", choices=["auto", "cuda", "host"], required=True)
    parser.add_argument("--output", type=Path, required=True, help="backend.json")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    frozen = read_json(args.claim)
    check(frozen, "frozen_claim", str(args.claim), ArtifactError)
    claim = Claim.from_dict(frozen)
    backend = identify(args.backend)
    device = backend.device
    try:
        require_capacity(
            claim,
            operations.load(ROOT, claim.operation, claim.workload.dtype),
            l2_bytes=0 if device is None else device.l2_bytes,
            memory_bytes=memory_bytes() if device is None else device.memory_bytes,
        )
    except ClaimError as error:
        raise ClaimError(f"{claim.file}: {error}") from None
    Store(args.results).publish(args.output, canonical(backend.to_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
