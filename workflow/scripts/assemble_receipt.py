"""Gate 5: bind every record, input and raw file of a claim into its receipt."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from fivegates.archive import CALIBRATION, load_evidence
from fivegates.errors import ArtifactError
from fivegates.gate import guarded, now
from fivegates.receipt import build
from fivegates.record import Artifact
from fivegates.revision import describe_revision
from fivegates.schema import check
from fivegates.store import Store, canonical, parse, read_bytes, read_json, sha256
from fivegates.verify import evidence_problems


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--documents", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True, help="receipt.json")
    return parser.parse_args(argv)


def is_foreign(path: Path, folder: Path) -> bool:
    """Whether this is the calibration of another device than the claim's."""
    if path.name != CALIBRATION:
        return False
    device = read_json(folder / "backend.json")["device"] or {}
    return bool(read_json(path).get("gpu_uuid") != device.get("gpu_uuid"))


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    store, folder = Store(args.results), args.output.parent
    args.documents = [path for path in args.documents if not is_foreign(path, folder)]
    pinned = [
        Artifact(**item)
        for path in args.documents
        for item in read_json(path).get("files", ())
    ]
    assembly = {
        "schema": "fivegates:assembly/v1",
        "created_at": now(),
        **describe_revision(pinned),
    }
    store.publish(folder / "assembly.json", canonical(assembly))
    digests = {}
    for path in (*args.documents, folder / "assembly.json"):
        data = read_bytes(path)
        store.keep(data)
        digests[store.name(path)] = sha256(data)
    evidence = load_evidence(store, folder.name, digests)
    problems = list(evidence_problems(store, evidence, datetime.now(UTC)))
    if problems:
        advice = "Run Snakemake again with --forceall"
        raise ArtifactError("\n".join(problems) + f"\n{args.output}: {advice}")
    data = canonical(build(evidence))
    check(parse(data, str(args.output)), "receipt", str(args.output), ArtifactError)
    store.publish(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
