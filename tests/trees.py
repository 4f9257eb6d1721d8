"""Committed result trees: read, copied, damaged, and forged as well as a forger could.

`forge` changes one file of a tree and then mends every digest that names it, up to a
receipt built anew: what is left to catch it is derivation, not hashing.
"""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fivegates.archive import load_evidence
from fivegates.arm import ROLES
from fivegates.evidence import Evidence, record_names
from fivegates.receipt import build
from fivegates.record import Artifact
from fivegates.store import Store, canonical, describe, sha256
from fivegates.verify import Verification, verify

RECEIPTS = Path(__file__).parent / "data" / "receipts" / "v1"
SUPPORTED, REFUSED = "triad-vec4", "triad-inclusive-guard"
NOW = datetime(2100, 1, 1, tzinfo=UTC)


def documents(tree: Path, claim: str) -> list[str]:
    """The documents of a tree, each after all that it names."""
    backend = json.loads((tree / claim / "backend.json").read_text())
    return [
        "claim.json",
        "backend.json",
        "harness.json",
        *(f"{role}/source.json" for role in ROLES),
        *(f"{name}.json" for name in record_names(backend["backend"], 3)),
    ]


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
    claim = json.loads((tree / "receipt.json").read_text())["name"]
    changes = {file: change}
    renamed: dict[str, Artifact] = {}
    order = documents(tree, claim)
    for name in dict.fromkeys([*([file] if file not in order else []), *order]):
        path = tree / claim / name
        before = path.read_bytes()
        after = before
        if path.suffix == ".json":
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
    _rebuild(tree, claim)


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


def _rebuild(tree: Path, claim: str) -> None:
    store = Store(tree)
    views = [path for path in (tree / claim).rglob("*") if path.is_file()]
    digests = {store.name(path): sha256(path.read_bytes()) for path in views}
    data = canonical(build(load_evidence(store, claim, digests)))
    for path in (tree / "receipt.json", tree / claim / "receipt.json"):
        _replace(tree, path, data)
