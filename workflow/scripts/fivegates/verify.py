"""Checks a receipt against its store: no device, no Snakemake, no network.

Re-hashes every file, derives every derived value again from raw samples and logs, and
builds the receipt again from what it found. The store's code is never executed.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fivegates.archive import load_evidence
from fivegates.arm import ROLES, Role
from fivegates.contract import contract_file, stated_order
from fivegates.derivation import Context, barred, derive
from fivegates.errors import ArtifactError, EvidenceError
from fivegates.evidence import Evidence, predecessors, subjects
from fivegates.portfolio import PORTFOLIO_SCHEMA
from fivegates.portfolio import build as build_portfolio
from fivegates.receipt import build
from fivegates.record import Artifact, Record, Verdict, gate_of
from fivegates.rounding import differences
from fivegates.schema import check
from fivegates.store import Store, canonical, parse, read_bytes, require_digest, sha256

CLOCK_SKEW = timedelta(hours=24)
# What well-formed documents raise that no gate could have written together.
MALFORMED = (
    ArithmeticError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
    csv.Error,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What was found; without problems, `receipt` is what its evidence says."""

    receipt: Mapping[str, Any] | None
    sha256: str | None
    problems: tuple[str, ...]

    @property
    def exit_status(self) -> int:
        """0 supported, 1 not supported, 2 invalid, 3 preflight passed."""
        if self.problems or self.receipt is None:
            return 2
        verdict = self.receipt["verdict"]
        if verdict["status"] == "supported":
            return 0
        if verdict["status"] == "inconclusive" and verdict["reason"] == "no-device":
            return 3
        return 1


def verify(path: Path, now: datetime) -> Verification:
    """Check the receipt at `path`; `now` bounds the times it may name."""
    try:
        data = read_bytes(path)
        receipt = parse(data, str(path))
        if isinstance(receipt, dict) and receipt.get("schema") == PORTFOLIO_SCHEMA:
            return _verify_portfolio(path, data, receipt, now)
    except EvidenceError as error:
        return Verification(receipt=None, sha256=None, problems=(str(error),))
    return _verify_receipt(path, now)


def _verify_receipt(path: Path, now: datetime) -> Verification:
    try:
        data = read_bytes(path)
        receipt = parse(data, str(path))
        check(receipt, "receipt", str(path), ArtifactError)
        if canonical(receipt) != data:
            raise ArtifactError(f"{path}: not canonical JSON, expected sorted keys, LF")
        store = Store(_results_folder(path))
        # What is damaged contradicts everything else: say that alone.
        problems = list(_damaged(store, path, receipt)) or _collect(
            lambda: _contradictions(store, path, receipt, now)
        )
    except EvidenceError as error:
        return Verification(receipt=None, sha256=None, problems=(str(error),))
    return Verification(
        receipt=receipt, sha256=sha256(data), problems=tuple(dict.fromkeys(problems))
    )


def _verify_portfolio(
    path: Path, data: bytes, portfolio: Mapping[str, Any], now: datetime
) -> Verification:
    """Check every receipt that a portfolio binds, and that it says what they say."""
    check(portfolio, "portfolio", str(path), ArtifactError)
    results, receipts = _results_folder(path), {}
    problems: list[str] = []
    for row in portfolio["workloads"]:
        part = results / row["name"] / "receipt.json"
        found = _verify_receipt(part, now)
        problems += found.problems
        if found.receipt is None or found.sha256 is None:
            continue
        receipts[row["name"]] = (found.sha256, found.receipt)
        if found.receipt["name"] != row["name"]:
            problems.append(f"{part}: is of {found.receipt['name']}")
        if found.sha256 != row["sha256"]:
            problems.append(
                f"{part}: sha256 {found.sha256}, expected {row['sha256']} as in {path}"
            )
    if not problems and canonical(build_portfolio(receipts)) != data:
        problems.append(f"{path}: not what its receipts say together")
    return Verification(
        receipt=portfolio, sha256=sha256(data), problems=tuple(problems)
    )


def _collect(find: Callable[[], Iterator[str]]) -> list[str]:
    """Problems found, up to and with the one that stops the search."""
    problems: list[str] = []
    try:
        problems.extend(find())
    except EvidenceError as error:
        problems.append(str(error))
    except MALFORMED as error:
        problems.append(f"nothing can be derived from the evidence: {error!r}")
    return problems


def _results_folder(path: Path) -> Path:
    for folder in path.resolve().parents:
        if (folder / "store" / "sha256").is_dir():
            return folder
    raise ArtifactError(
        f"{path}: no store/sha256 beside it or above, expected the store"
    )


def _damaged(store: Store, path: Path, receipt: Mapping[str, Any]) -> Iterator[str]:
    """Files that are not what their digest says, missing, or listed nowhere."""
    for file in sorted((store.results / "store" / "sha256").rglob("*")):
        if file.is_file():
            yield from _digest_problems(file, file.parent.name + file.name)
    listed = {item["name"]: item["sha256"] for item in receipt["evidence"]}
    for name, digest in listed.items():
        if not store.path(digest).is_file():
            yield f"{name}: {store.path(digest)} is missing, expected in the store"
        if (store.results / name).is_file():
            yield from _digest_problems(store.results / name, digest)
    for file in sorted((store.results / receipt["name"]).rglob("*")):
        name = file.relative_to(store.results).as_posix()
        if not file.is_file() or name in listed:
            continue
        if name != f"{receipt['name']}/receipt.json":
            yield f"{file}: not listed in the receipt, expected no such file"
        elif file.read_bytes() != path.read_bytes():
            yield f"{file}: differs from {path}, expected the same receipt"


def _digest_problems(file: Path, digest: str) -> Iterator[str]:
    try:
        require_digest(str(file), read_bytes(file), digest)
    except ArtifactError as error:
        yield str(error)


def _contradictions(
    store: Store, path: Path, receipt: Mapping[str, Any], now: datetime
) -> Iterator[str]:
    """Where the receipt or a record says what its evidence does not."""
    digests = {item["name"]: item["sha256"] for item in receipt["evidence"]}
    evidence = load_evidence(store, receipt["name"], digests)
    yield from evidence_problems(store, evidence, now)
    rebuilt = canonical(build(evidence))
    for difference in differences(receipt, parse(rebuilt, "rebuilt")):
        yield f"{path}: {difference}"
    if rebuilt != canonical(receipt):
        yield f"{path}: not the receipt of its evidence"


def evidence_problems(store: Store, evidence: Evidence, now: datetime) -> Iterator[str]:
    """Where a record says what its evidence does not; nothing for a valid tree."""
    for name, record in evidence.records.items():
        yield from _record_problems(store, evidence, name, record)
    yield from _source_problems(store, evidence)
    yield from _oracle_problems(evidence)
    yield from _time_problems(evidence, now)


def _record_problems(
    store: Store, evidence: Evidence, name: str, record: Record
) -> Iterator[str]:
    where = f"{evidence.claim.name}/{name}.json"
    digests = {item.name: item.sha256 for item in evidence.artifacts}
    if record.gate != gate_of(name):
        yield f"{where}: gate is {record.gate!r}, expected {gate_of(name)!r}"
    if record.claim != digests[f"{evidence.claim.name}/claim.json"]:
        yield f"{where}: made for another claim.json"
    if set(record.subject) != set(subjects(name)):
        yield f"{where}: subject is {sorted(record.subject)}, expected {subjects(name)}"
    for role, digest in record.subject.items():
        if digests[f"{evidence.claim.name}/{role}/source.json"] != digest:
            yield f"{where}: subject {role} is not its source.json"
    for item in (*record.inputs, *record.artifacts):
        if digests.get(item.name) != item.sha256:
            yield f"{where}: {item.name} {item.sha256} is not the receipt's evidence"
    given = {item.name for item in record.inputs}
    for needed in (
        *("claim", "backend", "harness"),
        *(f"{role}/source" for role in subjects(name)),
        *_before(evidence, name),
    ):
        if f"{evidence.claim.name}/{needed}.json" not in given:
            yield f"{where}: was not given {needed}, expected as an input"
    yield from (
        f"{where}: {p}" for p in _verdict_problems(store, evidence, name, record)
    )


def _before(evidence: Evidence, name: str) -> tuple[str, ...]:
    return predecessors(name, evidence.backend.kind, evidence.sessions)


def _verdict_problems(
    store: Store, evidence: Evidence, name: str, record: Record
) -> Iterator[str]:
    after = {n: evidence.records[n] for n in _before(evidence, name)}
    refusal = barred(name, evidence.backend, record.inputs, after)
    if refusal is not None or record.result is None:
        if refusal is not None and record.result is not None:
            yield f"holds a result, expected none: {_spoken(refusal)}"
        if record.verdict != refusal:
            expected = "a result" if refusal is None else _spoken(refusal)
            yield f"verdict is {_spoken(record.verdict)}, expected {expected}"
        return
    try:
        derived, verdict = derive(name, record, _context(store, evidence))
    except MALFORMED as error:
        yield f"nothing can be derived from it: {error!r}"
        return
    for difference in differences(record.result["derived"], derived):
        yield f"result.derived.{difference}"
    if record.verdict != verdict:
        yield f"verdict is {_spoken(record.verdict)}, expected {_spoken(verdict)}"


def _spoken(verdict: Verdict) -> str:
    return f"{verdict.status} ({verdict.reason}): {verdict.message}"


def _context(store: Store, evidence: Evidence) -> Context:
    def source(role: Role) -> str:
        files = (Artifact(**item) for item in evidence.sources[role]["files"])
        return store.pick(files, evidence.claim.arms[role].source).decode()

    return Context(
        claim=evidence.claim,
        backend=evidence.backend,
        records=evidence.records,
        sources={role: source(role) for role in ROLES},
        raw=lambda record, file: store.pick(record.artifacts, file).decode(
            errors="replace"
        ),
    )


def _source_problems(store: Store, evidence: Evidence) -> Iterator[str]:
    """A source manifest names its arm, its kernel and its contract, and no more.

    What the claim says of the contract, the contract says.
    """
    claim = evidence.claim
    contract = contract_file(claim.operation)
    for role in ROLES:
        document = evidence.sources[role]
        where = f"{claim.name}/{role}/source.json"
        expected = {claim.arms[role].source, contract}
        found = {item["name"] for item in document["files"]}
        if document["role"] != role:
            yield f"{where}: role is {document['role']!r}, expected {role!r}"
        if found != expected:
            yield f"{where}: files are {sorted(found)}, expected {sorted(expected)}"
            continue
        pinned = (Artifact(**item) for item in document["files"])
        stated = stated_order(store.pick(pinned, contract).decode(errors="replace"))
        if stated != claim.order:
            yield (
                f"{claim.name}/claim.json: order is {claim.order!r}, expected "
                f"{stated!r} as {contract} states"
            )


def _oracle_problems(evidence: Evidence) -> Iterator[str]:
    """Both arms were held to the same values; older records do not say which."""
    named = {
        role: record.measured["oracle_sha256"]
        for role in ROLES
        for record in (evidence.records[f"{role}/reference"],)
        if record.result is not None and "oracle_sha256" in record.measured
    }
    if len(set(named.values())) > 1:
        yield (
            f"{evidence.claim.name}/candidate/reference.json: oracle_sha256 is "
            f"{named['candidate']}, expected {named['baseline']} as of the baseline"
        )


def _time_problems(evidence: Evidence, now: datetime) -> Iterator[str]:
    """No gate began before those it waits for had ended; nothing is in the future."""
    created = _time(evidence.assembly["created_at"])
    if created > now + CLOCK_SKEW:
        yield f"assembly.json: created_at is {created.isoformat()}, in the future"
    for name, record in evidence.records.items():
        before = [evidence.records[n] for n in _before(evidence, name)]
        times = [
            *(max((_time(r.run.finished_at) for r in before), default=None),),
            _time(record.run.started_at),
            _time(record.run.finished_at),
            created,
        ]
        known = [time for time in times if time is not None]
        if known != sorted(known):
            yield (
                f"{name}: started {record.run.started_at}, finished "
                f"{record.run.finished_at}, expected after its predecessors and before "
                f"{evidence.assembly['created_at']}"
            )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
