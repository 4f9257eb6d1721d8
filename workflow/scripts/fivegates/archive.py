"""Reads all that a receipt is built from, out of the store.

The list of a receipt's evidence is itself derived: the documents of a claim, and all
that each of them lists.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from fivegates.arm import ROLES
from fivegates.backend import Backend
from fivegates.claim import Claim
from fivegates.errors import ArtifactError
from fivegates.evidence import Evidence, record_names
from fivegates.record import Artifact, Record
from fivegates.schema import check
from fivegates.store import Store, describe, parse

DOCUMENTS = {
    "claim.json": "frozen_claim",
    "backend.json": "backend",
    "harness.json": "harness",
    "assembly.json": "assembly",
    **{f"{role}/source.json": "source" for role in ROLES},
}


def load_evidence(
    store: Store, claim_name: str, digests: Mapping[str, str]
) -> Evidence:
    """The evidence of a claim; `digests` names its documents by path under results."""
    documents: dict[str, Any] = {}
    artifacts: dict[str, Artifact] = {}

    def load(file: str, kind: str) -> Any:
        name = f"{claim_name}/{file}"
        if name not in digests:
            raise ArtifactError(f"{name}: not in the evidence, expected there")
        data = store.read(digests[name])
        documents[file] = parse(data, name)
        check(documents[file], kind, name, ArtifactError)
        for artifact in (describe(name, data), *_listed(documents[file])):
            store.load(artifact)
            if artifacts.setdefault(artifact.name, artifact) != artifact:
                raise ArtifactError(
                    f"{name}: {artifact.name} is {artifact.sha256}, expected "
                    f"{artifacts[artifact.name].sha256} as elsewhere in the evidence"
                )
        return documents[file]

    for file, kind in DOCUMENTS.items():
        load(file, kind)
    claim = Claim.from_dict(documents["claim.json"])
    backend = Backend.from_dict(documents["backend.json"])
    records = {
        name: Record.from_dict(load(f"{name}.json", "gate_record"))
        for name in record_names(backend.kind, claim.policy.timing.sessions)
    }
    return Evidence(
        claim=claim,
        backend=backend,
        sources={role: documents[f"{role}/source.json"] for role in ROLES},
        records=records,
        record_sha256={
            name: artifacts[f"{claim_name}/{name}.json"].sha256 for name in records
        },
        artifacts=tuple(artifacts.values()),
        assembly=documents["assembly.json"],
    )


def _listed(document: Mapping[str, Any]) -> Iterator[Artifact]:
    """What a manifest or a record keeps beside itself."""
    for item in (*document.get("files", ()), *document.get("artifacts", ())):
        yield Artifact(**item)
