"""Freeze a claim: check YAML, contract and kernel files, then write claim.json."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from fivegates import operations
from fivegates.claim import CLAIM_SCHEMA, Claim, cases, require_bound
from fivegates.contract import digest
from fivegates.errors import ClaimError
from fivegates.gate import ROOT, guarded
from fivegates.portfolio import PART, singled_out
from fivegates.schema import check
from fivegates.store import Store, canonical, read_bytes, sha256


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key that is written twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Refuse what PyYAML would let the last one win."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is written twice", node.start_mark
                )
        return super().construct_mapping(node, deep)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--claim", type=Path, required=True, help="YAML of the claim")
    parser.add_argument("--workload", default="", help="one of several, by name")
    parser.add_argument("--policy", type=json.loads, required=True, help="JSON")
    parser.add_argument("--output", type=Path, required=True, help="claim.json")
    return parser.parse_args(argv)


def load_yaml(path: Path) -> Any:
    try:
        return yaml.load(read_bytes(path), StrictLoader)  # noqa: S506 - a SafeLoader
    except (ValueError, yaml.YAMLError) as error:
        text = " ".join(str(error).split())
        raise ClaimError(f"{path}: not YAML: {text}") from None


def freeze(name: str, document: Any, policy: Any, workload: str = "") -> bytes:
    """The frozen claim; ClaimError, all problems at once, where it cannot be judged.

    Of a claim with several workloads the one that is named is frozen, as a claim of its
    own that names all of them.
    """
    several = singled_out(document, name)
    if workload not in several:
        raise ClaimError(
            f"{name}: no workload {workload!r}, expected one of {', '.join(several)}"
        )
    for key, one in several.items():
        where = f"{name} (workload {key})" if key else name
        check(one, "claim", where, ClaimError)
    document = several[workload]
    stem = Path(name).stem
    config = {"claim": stem, "claims": [stem], "backend": "auto", "policy": policy}
    check(config, "config", "config/config.yaml", ClaimError)
    frozen = {
        "schema": CLAIM_SCHEMA,
        "name": f"{stem}{PART}{workload}" if workload else stem,
        "claim": document,
        "policy": policy,
        **({"portfolio": _portfolio(several, policy)} if workload else {}),
    }
    try:
        claim = Claim.from_dict(frozen)
        operation = operations.load(ROOT, claim.operation, claim.workload.dtype)
        require_bound(claim, operation)
    except ClaimError as error:
        raise ClaimError(f"{name}: {error}") from None
    for role, arm in claim.arms.items():
        if not (ROOT / arm.source).is_file():
            raise ClaimError(
                f"{name}: {role}.source is {arm.source!r}, expected an existing file"
            )
    planned = digest(cases(claim, operation))
    return canonical({**frozen, "cases_sha256": planned, "order": operation.order})


def _portfolio(several: Mapping[str, Any], policy: Any) -> dict[str, Any]:
    """What the parts of a claim have in common: all of it, by digest."""
    whole = canonical({"claims": several, "policy": policy})
    return {"workloads": sorted(several), "sha256": sha256(whole)}


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    document = load_yaml(args.claim)
    data = freeze(str(args.claim), document, args.policy, args.workload)
    Store(args.results).publish(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
