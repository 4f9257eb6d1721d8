"""Reads all that a receipt is built from, out of the store.

The list of a receipt's evidence is itself derived: the documents of a claim, and all
that each of them lists.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from fivegates import calibration
from fivegates.arm import ROLES
from fivegates.backend import Backend
from fivegates.claim import Claim
from fivegates.errors import ArtifactError
from fivegates.evidence import Evidence, record_names
from fivegates.record import Artifact, Record
from fivegates.rounding import differences
from fivegates.schema import check
from fivegates.store import Store, describe, parse

CALIBRATION = "calibration.json"
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

    def load(name: str, kind: str) -> Any:
        if name not in digests:
            raise ArtifactError(f"{name}: not in the evidence, expected there")
        data = store.read(digests[name])
        documents[name] = parse(data, name)
        check(documents[name], kind, name, ArtifactError)
        for artifact in (describe(name, data), *_listed(documents[name])):
            store.load(artifact)
            if artifacts.setdefault(artifact.name, artifact) != artifact:
                raise ArtifactError(
                    f"{name}: {artifact.name} is {artifact.sha256}, expected "
                    f"{artifacts[artifact.name].sha256} as elsewhere in the evidence"
                )
        return documents[name]

    own = {file: load(f"{claim_name}/{file}", kind) for file, kind in DOCUMENTS.items()}
    claim = Claim.from_dict(own["claim.json"])
    backend = Backend.from_dict(own["backend.json"])
    records = {
        name: Record.from_dict(load(f"{claim_name}/{name}.json", "gate_record"))
        for name in record_names(backend.kind, _sessions(claim, digests))
    }
    cited = None
    if CALIBRATION in digests:
        document = load(CALIBRATION, "calibration")
        _require_own(store, document, backend, own["assembly.json"]["created_at"])
        cited = calibration.cite(document, CALIBRATION, digests[CALIBRATION])
    return Evidence(
        claim=claim,
        backend=backend,
        sources={role: own[f"{role}/source.json"] for role in ROLES},
        records=records,
        record_sha256={
            name: artifacts[f"{claim_name}/{name}.json"].sha256 for name in records
        },
        artifacts=tuple(artifacts.values()),
        assembly=own["assembly.json"],
        calibration=cited,
    )


def _require_own(
    store: Store, document: Mapping[str, Any], backend: Backend, created_at: str
) -> None:
    """ArtifactError for a calibration of another device, or not of its experiments."""
    times = [document["measured_at"], document["finished_at"], created_at]
    if times != sorted(times, key=datetime.fromisoformat):
        raise ArtifactError(
            f"{CALIBRATION}: measured from {times[0]} to {times[1]}, expected before "
            f"the receipt of {created_at}"
        )
    here = None if backend.device is None else backend.device.gpu_uuid
    if document["gpu_uuid"] != here:
        raise ArtifactError(
            f"{CALIBRATION}: measured on {document['gpu_uuid']}, expected {here}"
        )
    listed = list(_listed(document))
    raw = {n: store.pick(listed, n).decode() for n in ("rounds.csv", "costs.csv")}
    for problem in differences(document["derived"], calibration.again(document, raw)):
        raise ArtifactError(f"{CALIBRATION}: derived{problem}")


def _sessions(claim: Claim, digests: Mapping[str, str]) -> int:
    """Sessions in the evidence, at least those planned; version 1 knows no others."""
    if claim.version == 1:
        return claim.policy.timing.sessions
    prefix = f"{claim.name}/timing/s"
    listed = [n for n in digests if n.startswith(prefix) and n.endswith(".json")]
    named = [n for n in listed if "/" not in n.removeprefix(prefix)]
    return max(claim.policy.timing.sessions, len(named))


def _listed(document: Mapping[str, Any]) -> Iterator[Artifact]:
    """What a manifest or a record keeps beside itself."""
    for item in (*document.get("files", ()), *document.get("artifacts", ())):
        yield Artifact(**item)
