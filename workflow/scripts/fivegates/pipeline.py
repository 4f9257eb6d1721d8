"""Commands that need a checkout: they run its scripts and Snakemake there."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fivegates.errors import ArtifactError
from fivegates.evidence import session_name
from fivegates.store import read_json

CALIBRATION = Path("results/calibration.json")
SESSIONS_MAXIMUM = 99
CLAIM_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(--[a-z0-9]+)?")


def calibrate(experiments: int) -> int:
    """Calibrate this device; the exit status is the script's."""
    script = "workflow/scripts/calibrate_device.py"
    return _run([script, "--experiments", str(experiments), "--output", CALIBRATION])


def add_session(claim: str) -> int:
    """Time one more session of a claim, then assemble its receipt again.

    ArtifactError where the claim has no receipt of a device yet. The exit status is
    Snakemake's.
    """
    folder = Path("results") / claim
    if not CLAIM_NAME.fullmatch(claim):
        raise ArtifactError(f"{claim!r}: no claim, expected the name of one")
    if not (folder / "receipt.json").is_file():
        raise ArtifactError(
            f"{folder / 'receipt.json'}: no such file, expected the receipt of a claim "
            f"that was judged. Run snakemake {folder / 'receipt.json'} first"
        )
    receipt = read_json(folder / "receipt.json")
    if not isinstance(receipt, Mapping) or receipt.get("backend") != "cuda":
        raise ArtifactError(
            f"{folder / 'receipt.json'}: is a preflight, expected a claim that was "
            "timed on a device"
        )
    known = [path.stem for path in (folder / "timing").glob("s[0-9][0-9].json")]
    number = max((int(stem[1:]) for stem in known), default=0) + 1
    if number > SESSIONS_MAXIMUM:
        raise ArtifactError(f"{folder}: has {number - 1} sessions, expected at most 99")
    added = folder / "timing" / f"{session_name(number)}.json"
    return _snakemake(added) or _snakemake(*_receipts(folder))


def _receipts(folder: Path) -> list[Path]:
    """The receipt of a claim, and results/receipt.json where that is a copy of it."""
    copy, own = folder.parent / "receipt.json", folder / "receipt.json"
    same = copy.is_file() and copy.read_bytes() == own.read_bytes()
    return [own, copy] if same else [own]


def _snakemake(*targets: Path) -> int:
    quiet = ["--cores", "1", "--scheduler", "greedy", "--quiet", "host", "rules"]
    return _run(["-m", "snakemake", *quiet, "--", *targets])


def _run(words: list[str | Path]) -> int:
    return subprocess.run([sys.executable, *words], check=False).returncode
