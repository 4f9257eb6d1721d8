"""Sessions of gate 3 as the pipeline times them, outside of it: one process each.

`prepared` needs a results folder in which a claim was judged on this device; each
session then runs `time_session.py`, the script of the rule, and its record is read.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TIME_SESSION = "workflow/scripts/time_session.py"
ROLES = ("baseline", "candidate")


def session(folder: Path, number: int) -> dict[str, Any]:
    """Statistics of one session, and the wall time that its script took.

    `folder` is results/<claim>; nothing in it changes.
    """
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        view = Path(temporary)
        for path in folder.iterdir():
            if path.name != "timing":
                (view / path.name).symlink_to(path.resolve())
        record = view / "timing" / f"s{number:02d}.json"
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, *command(view, number, record)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        wall_s = time.monotonic() - start
        if done.returncode:
            raise SystemExit(f"session {number}: {done.stderr[-2000:]}")
        document = json.loads(record.read_text())
    return {
        "wall_s": wall_s,
        "verdict": document["verdict"],
        **document["result"]["derived"]["statistics"],
    }


def command(view: Path, number: int, record: Path) -> list[str]:
    """The words of the rule `time_session`."""
    after = [
        view / role / f"{name}.json"
        for role in ROLES
        for name in ("build", "reference")
    ]
    after += sorted(view.glob("*/sanitizer/*.json"))
    return [
        TIME_SESSION,
        f"--results={view.parent}",
        f"--session={number}",
        f"--claim={view / 'claim.json'}",
        f"--backend={view / 'backend.json'}",
        f"--harness={view / 'harness.json'}",
        "--sources",
        *(str(view / role / "source.json") for role in ROLES),
        "--after",
        *map(str, after),
        f"--output={record}",
    ]
