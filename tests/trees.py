"""Committed result trees: read, copied, damaged, and forged as well as a forger could.

`forge` changes one file of a tree and then mends every digest that names it, up to a
receipt built anew: what is left to catch it is derivation, not hashing. `honest` does
what gates would have done with the raw files that a tree then holds.
"""

import csv
import io
import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fivegates.archive import load_evidence
from fivegates.arm import ROLES
from fivegates.derivation import Context, barred, derive
from fivegates.evidence import (
    Evidence,
    predecessors,
    record_names,
    session_name,
)
from fivegates.plan import document, expected_blocks, launches_of, plan
from fivegates.receipt import build
from fivegates.record import Artifact, Record
from fivegates.rounding import rounded
from fivegates.store import Store, canonical, describe, sha256
from fivegates.trial import values_seed
from fivegates.verify import Verification, verify

RECEIPTS = Path(__file__).parent / "data" / "receipts"
# By version of their schemas.
V1_SUPPORTED, V1_REFUSED = "v1/triad-vec4", "v1/triad-inclusive-guard"
V2_SUPPORTED = "v2/triad-vec4"
V2_RACY = "v2/recurrent-one-barrier"
SUPPORTED = (V1_SUPPORTED, V2_SUPPORTED)
EXIT_STATUS = {V1_SUPPORTED: 0, V1_REFUSED: 1, V2_SUPPORTED: 0}
TREES = tuple(EXIT_STATUS)
# Of another operation: verified, not tried to be broken one byte at a time.
OTHERS = {V2_RACY: 1}
NOW = datetime(2100, 1, 1, tzinfo=UTC)
CALIBRATION = "calibration.json"


def claim_of(name: str) -> str:
    """The claim of a tree, which is its last name."""
    return Path(name).name


def views(name: str) -> Path:
    """The folder with a committed tree's views."""
    return RECEIPTS / name / claim_of(name)


def files(name: str) -> list[str]:
    """Every file of a committed tree."""
    return sorted(
        path.relative_to(RECEIPTS / name).as_posix()
        for path in (RECEIPTS / name).rglob("*")
        if path.is_file()
    )


def receipt_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECEIPTS / name / "receipt.json").read_text())
    return found


def documents(tree: Path, claim: str) -> list[str]:
    """The documents of a tree, each after all that it names."""
    backend = json.loads((tree / claim / "backend.json").read_text())
    return [
        "claim.json",
        "backend.json",
        "harness.json",
        *(f"{role}/source.json" for role in ROLES),
        *(f"{n}.json" for n in record_names(backend["backend"], sessions(tree, claim))),
        *([CALIBRATION] if (tree / CALIBRATION).is_file() else []),
    ]


def sessions(tree: Path, claim: str) -> int:
    return len(list((tree / claim / "timing").glob("s[0-9][0-9].json")))


def copied(name: str, target: Path) -> Path:
    """A copy of a committed tree that may be changed."""
    shutil.copytree(RECEIPTS / name, target / name)
    for path in (target / name).rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target / name


def verified(tree: Path) -> Verification:
    return verify(tree / "receipt.json", NOW)


def evidence_of(tree: Path) -> Evidence:
    receipt = json.loads((tree / "receipt.json").read_text())
    digests = {item["name"]: item["sha256"] for item in receipt["evidence"]}
    return load_evidence(Store(tree), receipt["name"], digests)


def forge(tree: Path, file: str, change: Callable[[Any], Any]) -> None:
    """Change the JSON document or raw file of one view, and mend all that names it."""
    forge_all(tree, {file: change})


def forge_all(tree: Path, changes: Mapping[str, Callable[[Any], Any]]) -> None:
    """Change several views, and mend all that names them."""
    claim = json.loads((tree / "receipt.json").read_text())["name"]
    mend(tree, claim, changes)
    rebuild(tree, claim)


def mend(tree: Path, claim: str, changes: Mapping[str, Callable[[Any], Any]]) -> None:
    """Change views, then every digest in a document that names one of them."""
    renamed: dict[str, Artifact] = {}
    order = documents(tree, claim)
    for name in dict.fromkeys([*(n for n in changes if n not in order), *order]):
        path = place(tree, claim, name)
        before = path.read_bytes()
        after = before
        if name in order:
            document = _mended(json.loads(before), renamed)
            after = canonical(changes.get(name, _same)(document))
        elif name in changes:
            after = changes[name](before)
            for twin in _twins(tree / claim, path):
                twin.chmod(0o644)
                twin.write_bytes(after)
        if after != before:
            renamed[sha256(before)] = describe("", after)
            _replace(tree, path, after)


def place(tree: Path, claim: str, name: str) -> Path:
    """A view: a calibration is of the device, all else of the claim."""
    return tree / name if name.startswith("calibration.") else tree / claim / name


def _twins(folder: Path, path: Path) -> list[Path]:
    """Other raw files of the same bytes: the store has one file for all of them."""
    same = path.read_bytes()
    views = (view for view in folder.rglob("*.raw/*") if view != path)
    return [view for view in views if view.read_bytes() == same]


def _same(document: Any) -> Any:
    return document


def _replace(tree: Path, path: Path, data: bytes) -> None:
    store = Store(tree)
    store.path(sha256(path.read_bytes())).unlink(missing_ok=True)
    store.publish(path, data)


def _mended(value: Any, renamed: dict[str, Artifact]) -> Any:
    if isinstance(value, dict):
        mended = {key: _mended(item, renamed) for key, item in value.items()}
        if value.get("sha256") in renamed and "size_bytes" in value:
            mended["size_bytes"] = renamed[value["sha256"]].size_bytes
        return mended
    if isinstance(value, list):
        return [_mended(item, renamed) for item in value]
    return renamed[value].sha256 if value in renamed else value


def rebuild(tree: Path, claim: str) -> None:
    """The receipt of the views."""
    data = canonical(build(load_views(tree, claim)))
    for path in (tree / "receipt.json", tree / claim / "receipt.json"):
        if path.is_file():
            _replace(tree, path, data)
        else:
            Store(tree).publish(path, data)


def load_views(tree: Path, claim: str) -> Evidence:
    store = Store(tree)
    paths = [path for path in (tree / claim).rglob("*") if path.is_file()]
    paths += [path for path in (tree / CALIBRATION,) if path.is_file()]
    digests = {store.name(path): sha256(path.read_bytes()) for path in paths}
    return load_evidence(store, claim, digests)


def honest(tree: Path, *names: str) -> None:
    """Let these gates decide again, in this order, and write the receipt of it."""
    claim = json.loads((tree / "receipt.json").read_text())["name"]
    for name in names:
        found = _decided(load_views(tree, claim), Store(tree), name)
        mend(tree, claim, {f"{name}.json": lambda d, found=found: {**d, **found}})
    rebuild(tree, claim)


def _decided(evidence: Evidence, store: Store, name: str) -> dict[str, Any]:
    """What the gate of this name writes of what lies there now."""
    record = evidence.records[name]
    before = predecessors(name, evidence.backend.kind, evidence.sessions)
    after = {n: evidence.records[n] for n in before}
    if refusal := barred(name, evidence.backend, record.inputs, after):
        return {"verdict": asdict(refusal), "result": None, "artifacts": []}

    def source(role: Any) -> str:
        listed = [Artifact(**file) for file in evidence.sources[role]["files"]]
        return store.pick(listed, evidence.claim.arms[role].source).decode()

    context = Context(
        claim=evidence.claim,
        backend=evidence.backend,
        records=evidence.records,
        sources={role: source(role) for role in ROLES},
        raw=lambda record, file: store.pick(record.artifacts, file).decode(
            errors="replace"
        ),
    )
    derived, verdict = derive(name, record, context)
    result = {**(record.result or {}), "derived": rounded(derived)}
    return {"verdict": asdict(verdict), "result": result}


def moved(text: str, seconds: float) -> str:
    """A time of a record, so much later."""
    found = datetime.fromisoformat(text) + timedelta(seconds=seconds)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def add_session(
    tree: Path, *, after_s: float, scale: Mapping[str, float] | None = None
) -> str:
    """Time one more session, `after_s` behind the last; its name.

    Its blocks are those of the first session, in the places of its own plan, their
    times multiplied by the `scale` of an arm.
    """
    claim = json.loads((tree / "receipt.json").read_text())["name"]
    number = sessions(tree, claim) + 1
    evidence = load_views(tree, claim)
    first, last = session_name(1), session_name(number - 1)
    added = f"timing/{session_name(number)}"
    store, folder = Store(tree), tree / claim / f"{added}.raw"
    record = evidence.records[f"timing/{first}"]
    raw = {
        item.name.rpartition("/")[2]: store.load(item).decode()
        for item in record.artifacts
    }
    first_blocks = raw["blocks.csv"]
    raw |= _replanned(raw, evidence, record, number, scale or {})
    artifacts = tuple(
        store.publish(folder / name, text.encode()) for name, text in raw.items()
    )
    by_name = {item.name.rpartition("/")[2]: item.sha256 for item in artifacts}
    measured = dict(record.measured)
    measured["facts"] = {
        **measured["facts"],
        "plan_sha256": by_name["plan.json"],
        "values_seed": values_seed(record.claim, measured["binaries"], number),
    }
    started_at = moved(evidence.records[f"timing/{last}"].run.started_at, after_s)
    # As long as the session whose blocks it has, and what they take longer.
    longer_s = _end_s(raw["blocks.csv"]) - _end_s(first_blocks)
    lasts_s = record.run.duration_s + max(0.0, longer_s)
    run = replace(
        record.run, started_at=started_at, finished_at=moved(started_at, lasts_s)
    )
    new = replace(
        record,
        artifacts=artifacts,
        run=run,
        result={**dict(record.result or {}), "measured": measured},
    )
    store.publish(tree / claim / f"{added}.json", canonical(new.to_dict()))
    _wait_for(tree, claim, added, after_s + lasts_s)
    honest(tree, added, "timing", "roofline")
    return added


def _wait_for(tree: Path, claim: str, added: str, after_s: float) -> None:
    """What comes behind a session is given it, and comes as much later."""

    def later(found: dict[str, Any]) -> dict[str, Any]:
        run = found["run"]
        times = {k: moved(run[k], after_s) for k in ("started_at", "finished_at")}
        return {**found, "run": {**run, **times}}

    def given(found: dict[str, Any]) -> dict[str, Any]:
        data = (tree / claim / f"{added}.json").read_bytes()
        item = asdict(describe(f"{claim}/{added}.json", data))
        return later({**found, "inputs": [*found["inputs"], item]})

    mend(tree, claim, {"timing.json": given, "roofline.json": later})
    path = tree / claim / "assembly.json"
    assembly = json.loads(path.read_text())
    assembly["created_at"] = moved(assembly["created_at"], after_s)
    _replace(tree, path, canonical(assembly))


def _replanned(
    raw: Mapping[str, str],
    evidence: Evidence,
    record: Record,
    number: int,
    scale: Mapping[str, float],
) -> dict[str, str]:
    """Blocks of one session in the places that the plan of another has for them."""
    claim, batch = evidence.claim, record.measured["facts"]["launches_per_graph"]
    times = defaultdict(list)
    for row in _rows(raw["samples.csv"]):
        times[row["comparison"], row["round"], row["block"]].append(
            float(row["elapsed_us"])
        )
    spans = _rows(raw["blocks.csv"])
    made = defaultdict(list)
    for span in spans:
        made[span["comparison"], span["round"], span["role"]].append(span)
    samples, blocks = [], []
    end = before = 0.0
    for span, block in zip(
        spans, expected_blocks(plan(claim, record.claim, number)), strict=True
    ):
        name, round_number, place, role, count = block
        own = made[name, str(round_number), role].pop(0)
        factor = scale.get(role, 1.0)
        # The time between two blocks is that of the place, their length the block's.
        begin = end + float(span["begin_s"]) - before
        before = float(span["end_s"])
        end = begin + factor * (float(own["end_s"]) - float(own["begin_s"]))
        blocks.append([*block[:4], round(begin, 6), round(end, 6), own["sm_clock_mhz"]])
        for sample, time in zip(
            range(count), times[name, str(round_number), own["block"]], strict=True
        ):
            launches, time_us = launches_of(name, batch), round(time * factor, 3)
            samples.append([name, round_number, place, role, sample, launches, time_us])
    return {
        "plan.json": canonical(document(claim, record.claim, number)).decode(),
        "samples.csv": _table(raw["samples.csv"].splitlines()[0], samples),
        "blocks.csv": _table(raw["blocks.csv"].splitlines()[0], blocks),
    }


def _end_s(blocks: str) -> float:
    return float(_rows(blocks)[-1]["end_s"])


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _table(header: str, rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"
