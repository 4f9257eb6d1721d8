"""Files: canonical JSON, atomic writes, and the store that names bytes by digest.

Every read of evidence re-hashes. Nothing here knows what a record means.
"""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from fivegates.errors import ArtifactError
from fivegates.record import Artifact

MEDIA_TYPES = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".cubin": "application/octet-stream",
    ".bin": "application/octet-stream",
}


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def canonical(data: Any) -> bytes:
    """The one spelling of a document: sorted keys, indent 2, LF, no NaN, UTF-8."""
    text = json.dumps(
        data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False
    )
    return (text + "\n").encode()


def parse(data: bytes, name: str) -> Any:
    """Strict JSON: duplicate keys and non-finite numbers are errors, as cut text is."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in items]
        if doubled := sorted({key for key in keys if keys.count(key) > 1}):
            raise ArtifactError(
                f"{name}: key {doubled[0]!r} appears twice, expected once"
            )
        return dict(items)

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ArtifactError(f"{name}: found {text}, expected a finite number")
        return value

    def constant(text: str) -> NoReturn:
        raise ArtifactError(f"{name}: found {text}, expected a finite number")

    try:
        document = json.loads(
            data.decode(),
            object_pairs_hook=pairs,
            parse_float=number,
            parse_constant=constant,
        )
        canonical(document)  # half of a surrogate pair has no spelling
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{name}: not JSON: {error}") from None
    return document


def read_bytes(path: Path) -> bytes:
    """Whole file; ArtifactError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(
            f"{path}: {error.strerror}, expected a readable file"
        ) from None


def read_json(path: Path) -> Any:
    """Strict JSON document of a file."""
    return parse(read_bytes(path), str(path))


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, then rename: readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).rename(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def describe(name: str, data: bytes) -> Artifact:
    """Artifact for these bytes under this name."""
    return Artifact(
        name=name,
        sha256=sha256(data),
        size_bytes=len(data),
        media_type=MEDIA_TYPES.get(Path(name).suffix, "text/plain"),
    )


class Store:
    """A results folder: named views for people, and `store/sha256/ab/...` for bytes."""

    def __init__(self, results: Path) -> None:
        """Use `results` as the folder; it need not exist yet."""
        self.results = results

    def path(self, digest: str) -> Path:
        """Where the bytes of a digest lie."""
        return self.results / "store" / "sha256" / digest[:2] / digest[2:]

    def name(self, view: Path) -> str:
        """Artifact name of a view: its path under the results folder."""
        return view.relative_to(self.results).as_posix()

    def keep(self, data: bytes) -> None:
        """Put bytes into the store; a damaged earlier copy is replaced."""
        path = self.path(sha256(data))
        if path.is_file() and path.read_bytes() == data:
            return
        write_atomically(path, data)
        path.chmod(0o444)

    def publish(self, view: Path, data: bytes) -> Artifact:
        """Keep bytes in the store and show them under a name."""
        self.keep(data)
        write_atomically(view, data)
        return describe(self.name(view), data)

    def pin(self, name: str, data: bytes) -> Artifact:
        """Keep bytes in the store under a name that has no view in the results."""
        self.keep(data)
        return describe(name, data)

    def read(self, digest: str) -> bytes:
        """Bytes of a digest, re-hashed."""
        path = self.path(digest)
        data = read_bytes(path)
        require_digest(str(path), data, digest)
        return data

    def load(self, artifact: Artifact) -> bytes:
        """Bytes of an artifact, re-hashed, and as large and of the kind it says."""
        data = self.read(artifact.sha256)
        if (found := describe(artifact.name, data)) != artifact:
            raise ArtifactError(
                f"{artifact.name}: described as {artifact.size_bytes} bytes of "
                f"{artifact.media_type}, expected {found.size_bytes} bytes of "
                f"{found.media_type}"
            )
        return data

    def pick(self, artifacts: Iterable[Artifact], name: str) -> bytes:
        """Bytes of the one artifact whose name is this, or ends in it behind a `/`."""
        found = [a for a in artifacts if f"/{a.name}".endswith(f"/{name}")]
        if len(found) != 1:
            raise ArtifactError(f"{name}: {len(found)} artifacts, expected 1")
        return self.load(found[0])


def require_digest(name: str, data: bytes, expected: str) -> None:
    """ArtifactError unless the bytes have this digest."""
    if (found := sha256(data)) != expected:
        raise ArtifactError(
            f"{name}: sha256 {found}, expected {expected}; the file changed after it "
            f"was recorded{_line_ending_hint(data, expected)}"
        )


def _line_ending_hint(data: bytes, expected: str) -> str:
    if sha256(data.replace(b"\r\n", b"\n")) == expected:
        return " (equal after CRLF -> LF: line endings were converted)"
    return ""
