"""The version-control state of the pinned files, where there is any."""

import hashlib
import re
import shutil
from collections.abc import Iterable
from typing import Any

from fivegates.process import Completed, run
from fivegates.record import Artifact

TIMEOUT_S = 30
CREDENTIALS = re.compile(r"//[^/@]*@")


def describe_revision(pinned: Iterable[Artifact]) -> dict[str, Any]:
    """Repository, commit, and whether a pinned file differs from that commit.

    All None where git is missing or this is no repository: the digests still say what
    the files were.
    """
    head = _git("rev-parse", "HEAD")
    if head is None:
        return {"repository": None, "commit": None, "dirty": None}
    remote = _git("config", "--get", "remote.origin.url")
    return {
        "repository": None if remote is None else CREDENTIALS.sub("//", remote),
        "commit": head,
        "dirty": any(_differs(head, artifact) for artifact in pinned),
    }


def _differs(commit: str, artifact: Artifact) -> bool:
    completed = _run("cat-file", "blob", f"{commit}:./{artifact.name}")
    data = completed.stdout.encode()
    return (
        completed.exit_status != 0
        or hashlib.sha256(data).hexdigest() != artifact.sha256
    )


def _git(*arguments: str) -> str | None:
    if shutil.which("git") is None:
        return None
    completed = _run(*arguments)
    return completed.stdout.strip() if completed.exit_status == 0 else None


def _run(*arguments: str) -> Completed:
    return run(["git", *arguments], timeout_s=TIMEOUT_S)
