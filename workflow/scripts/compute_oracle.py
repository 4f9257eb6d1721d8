"""Judge the contract, then compute what every case of the claim must come to."""

import argparse
import sys
from pathlib import Path

from fivegates import operations, oracle
from fivegates.claim import Claim
from fivegates.errors import ArtifactError, ClaimError
from fivegates.gate import ROOT, guarded
from fivegates.schema import check
from fivegates.store import parse, read_bytes, write_atomically


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claim", type=Path, required=True, help="claim.json")
    parser.add_argument("--harness", type=Path, required=True, help="harness.json")
    parser.add_argument("--output", type=Path, required=True, help="oracle.npz")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    data = read_bytes(args.claim)
    frozen = parse(data, str(args.claim))
    check(frozen, "frozen_claim", str(args.claim), ArtifactError)
    claim = Claim.from_dict(frozen)
    contract = read_bytes(operations.contract_path(ROOT, claim.operation))
    of = oracle.subject(data, contract, read_bytes(args.harness))
    operation = operations.load(ROOT, claim.operation, claim.workload.dtype)
    try:
        computed = oracle.compute(claim, operation, of)
    except ClaimError as error:
        raise ClaimError(f"{claim.file}: {error}") from None
    write_atomically(args.output, computed)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
