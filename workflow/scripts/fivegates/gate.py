"""The desk of a gate: opens what the gate is given, says whether it may run, writes.

A record and its artifacts are written when all is known: the raw files of `x.json`
into the store and into `x.raw/`, the record last.
"""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fivegates import operations
from fivegates.arm import Role
from fivegates.backend import Backend
from fivegates.claim import Claim
from fivegates.contract import Operation
from fivegates.derivation import Context, barred, derive
from fivegates.errors import ArtifactError, EvidenceError
from fivegates.record import Artifact, Record, Run, Verdict, gate_of
from fivegates.rounding import rounded
from fivegates.schema import check
from fivegates.store import (
    Store,
    canonical,
    describe,
    parse,
    read_bytes,
    require_digest,
    sha256,
    write_atomically,
)

ROOT = Path.cwd()
RECORDED_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "LD_PRELOAD")
ERROR_STATUS = 2
TERMINATED_STATUS = 143


def guarded(main: Callable[[], int]) -> int:
    """Run a script: bad input and missing means are one message and status 2.

    SIGTERM is an exception here, so that child processes are ended with their parent.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED_STATUS))
    try:
        return main()
    except EvidenceError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return ERROR_STATUS


def now() -> str:
    """This moment, RFC 3339 with Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def gate_parser(
    description: str | None, *, several: bool = False
) -> argparse.ArgumentParser:
    """Flags that every gate script has; `several` records come from one run."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--claim", type=Path, required=True, help="claim.json")
    parser.add_argument("--backend", type=Path, required=True, help="backend.json")
    parser.add_argument("--harness", type=Path, required=True, help="harness.json")
    parser.add_argument(
        "--sources", type=Path, nargs="*", default=[], help="source.json of each arm"
    )
    parser.add_argument(
        "--after",
        type=Path,
        nargs="*",
        default=[],
        help="records that must have passed",
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        nargs="+" if several else None,
        help="the record",
    )
    return parser


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What a gate has in front of it. `after` holds predecessors by record name."""

    name: str
    store: Store
    output: Path
    claim: Claim
    claim_sha256: str
    operation: Operation
    backend: Backend
    sources: Mapping[Role, Mapping[str, Any]]
    subject: Mapping[str, str]
    inputs: tuple[Artifact, ...]
    after: Mapping[str, Record]
    started_at: str

    @property
    def barred(self) -> Verdict | None:
        """Why this gate may not run, or None."""
        return barred(self.name, self.backend, self.inputs, self.after)

    def raw(self, record: Record, file: str) -> bytes:
        """A raw file of a record by its name, re-hashed."""
        return self.store.pick(record.artifacts, file)

    def source(self, role: Role) -> str:
        """Text of an arm's kernel source, as it was pinned."""
        files = (Artifact(**item) for item in self.sources[role]["files"])
        return self.store.pick(files, self.claim.arms[role].source).decode()

    def finish(
        self,
        *,
        declared: Mapping[str, Any],
        measured: Mapping[str, Any],
        raw: Mapping[str, bytes] | None = None,
        command: Sequence[str] = (),
    ) -> None:
        """Derive the verdict and write the record with its raw files."""
        folder = self.output.with_suffix(".raw")
        views = {folder / file: data for file, data in (raw or {}).items()}
        artifacts = tuple(
            self.store.pin(self.store.name(view), data) for view, data in views.items()
        )
        result = {"declared": declared, "measured": measured, "derived": {}}
        draft = self._record(
            Verdict.passed("draft"), result, artifacts=artifacts, command=command
        )
        context = Context(
            claim=self.claim,
            backend=self.backend,
            records={**self.after, self.name: draft},
            sources={role: self.source(role) for role in self.sources},
            raw=lambda record, file: self.raw(record, file).decode(errors="replace"),
        )
        derived, verdict = derive(self.name, draft, context)
        shutil.rmtree(folder, ignore_errors=True)
        for view, data in views.items():
            write_atomically(view, data)
        self._write(
            replace(
                draft, verdict=verdict, result={**result, "derived": rounded(derived)}
            )
        )

    def refuse(self, verdict: Verdict) -> None:
        """Write the record of a gate that may not run."""
        shutil.rmtree(self.output.with_suffix(".raw"), ignore_errors=True)
        self._write(self._record(verdict, None))

    def _record(
        self,
        verdict: Verdict,
        result: Mapping[str, Any] | None,
        *,
        artifacts: tuple[Artifact, ...] = (),
        command: Sequence[str] = (),
    ) -> Record:
        return Record(
            gate=gate_of(self.name),
            claim=self.claim_sha256,
            subject=self.subject,
            verdict=verdict,
            inputs=self.inputs,
            artifacts=artifacts,
            run=Run(
                command=tuple(command) or ("python", *sys.argv),
                environment={
                    key: os.environ[key]
                    for key in RECORDED_VARIABLES
                    if key in os.environ
                },
                started_at=self.started_at,
                finished_at=now(),
            ),
            result=result,
        )

    def _write(self, record: Record) -> None:
        data = canonical(record.to_dict())
        check(parse(data, self.name), "gate_record", str(self.output), ArtifactError)
        self.store.publish(self.output, data)
        print(f"{self.name}: {record.verdict.status}, {record.verdict.message}")


def open_desk(arguments: argparse.Namespace) -> Desk:
    """Read and check every input that the flags of `gate_parser` name."""
    store = Store(arguments.results)
    claim_folder = arguments.claim.parent
    paths = [arguments.claim, arguments.backend, arguments.harness]
    paths += [*arguments.sources, *arguments.after]
    documents = {path: read_bytes(path) for path in paths}
    for data in documents.values():
        store.keep(data)

    def document(path: Path, kind: str) -> dict[str, Any]:
        data: dict[str, Any] = parse(documents[path], str(path))
        check(data, kind, str(path), ArtifactError)
        return data

    def name(path: Path) -> str:
        return path.relative_to(claim_folder).with_suffix("").as_posix()

    claim = Claim.from_dict(document(arguments.claim, "frozen_claim"))
    contract = operations.contract_path(ROOT, claim.operation)
    sources = {path: document(path, "source") for path in arguments.sources}
    for source in sources.values():
        _require_pinned(ROOT, contract, source["files"])
    return Desk(
        name=name(arguments.output),
        store=store,
        output=arguments.output,
        claim=claim,
        claim_sha256=sha256(documents[arguments.claim]),
        operation=operations.load(ROOT, claim.operation, claim.workload.dtype),
        backend=Backend.from_dict(document(arguments.backend, "backend")),
        sources={source["role"]: source for source in sources.values()},
        subject={s["role"]: sha256(documents[path]) for path, s in sources.items()},
        inputs=tuple(
            describe(store.name(path), data) for path, data in documents.items()
        ),
        after={
            name(path): Record.from_dict(document(path, "gate_record"))
            for path in arguments.after
        },
        started_at=now(),
    )


def open_desks(arguments: argparse.Namespace) -> dict[str, Desk]:
    """A desk for each record of a run, by its stem; those that may not run are written.

    Of the controls given, a record waits for its own.
    """
    ready = {}
    for output in arguments.output:
        after = [
            path
            for path in arguments.after
            if path.parent.name != "control" or path.stem == output.stem
        ]
        own = {**vars(arguments), "output": output, "after": after}
        desk = open_desk(argparse.Namespace(**own))
        if refusal := desk.barred:
            desk.refuse(refusal)
        else:
            ready[output.stem] = desk
    return ready


def _require_pinned(
    root: Path, contract: Path, files: Sequence[Mapping[str, Any]]
) -> None:
    """The contract that is executed is the one that the source manifest names."""
    name = contract.relative_to(root).as_posix()
    for item in files:
        if item["name"] == name:
            require_digest(name, read_bytes(contract), item["sha256"])
