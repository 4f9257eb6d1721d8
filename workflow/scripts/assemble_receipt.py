"""Gate 5: bind every record, input and raw file of a claim into its receipt."""

import argparse
import sys
from pathlib import Path

from fivegates.errors import ArtifactError
from fivegates.gate import guarded, now
from fivegates.receipt import build
from fivegates.record import Artifact
from fivegates.revision import describe_revision
from fivegates.schema import check
from fivegates.store import Store, canonical, describe, parse, read_bytes
from fivegates.verify import load_evidence


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--claim", type=Path, required=True, help="claim.json")
    parser.add_argument("--manifests", type=Path, nargs="+", required=True)
    parser.add_argument("--records", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, required=True, help="receipt.json")
    return parser.parse_args(argv)


def collect(store: Store, paths: list[Path]) -> dict[str, Artifact]:
    """Every file of the evidence by name: documents, and what each of them lists."""
    found: dict[str, Artifact] = {}
    for path in paths:
        data = read_bytes(path)
        store.keep(data)
        document = parse(data, str(path))
        listed = [*document.get("files", ()), *document.get("artifacts", ())]
        for artifact in (
            describe(store.name(path), data),
            *(Artifact(**item) for item in listed),
        ):
            store.load(artifact)
            if found.setdefault(artifact.name, artifact) != artifact:
                raise ArtifactError(
                    f"{path}: {artifact.name} is {artifact.sha256}, expected "
                    f"{found[artifact.name].sha256} as another record lists it"
                )
    return found


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    store = Store(args.results)
    found = collect(store, [args.claim, *args.manifests, *args.records])
    pinned = [a for a in found.values() if not (args.results / a.name).is_file()]
    assembly = {
        "schema": "fivegates:assembly/v1",
        "created_at": now(),
        **describe_revision(pinned),
    }
    folder = args.output.parent
    artifact = store.publish(folder / "assembly.json", canonical(assembly))
    found[artifact.name] = artifact
    evidence = load_evidence(store, folder.name, tuple(found.values()))
    data = canonical(build(evidence))
    check(parse(data, str(args.output)), "receipt", str(args.output), ArtifactError)
    store.publish(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
