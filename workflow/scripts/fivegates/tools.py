"""compute-sanitizer: where it is, which one it is, and how it is called."""

import hashlib
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from fivegates.errors import ToolError
from fivegates.process import run
from fivegates.sanitizer import COMMAND, ERROR_EXIT_STATUS

WHEELS = ("nvidia-cuda-sanitizer-api", "nvidia-cuda-sanitizer-api-cu12")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """An external program by version and by the digest of its executable."""

    name: str
    path: Path
    version: str
    sha256: str


def find_compute_sanitizer() -> Tool:
    """The one of this environment's wheel, else on PATH; ToolError if neither."""
    path = _from_wheel() or _from_path()
    completed = run([path, "--version"], timeout_s=60)
    versions = [line for line in completed.stdout.splitlines() if "Version" in line]
    if completed.exit_status != 0 or not versions:
        raise ToolError(f"{COMMAND}: --version says {completed.last_words!r}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    version = versions[0].split("Version", 1)[1].strip()
    return Tool(name=COMMAND, path=path, version=version, sha256=digest)


def _from_wheel() -> Path | None:
    for wheel in WHEELS:
        try:
            listed = files(wheel) or []
        except PackageNotFoundError:
            continue
        # Some wheels carry a launcher of the same name beside the program itself.
        found = [Path(str(f.locate())) for f in listed if f.name == COMMAND]
        if programs := [path for path in found if path.is_file()]:
            return max(programs, key=lambda path: path.stat().st_size).resolve()
    return None


def _from_path() -> Path:
    found = shutil.which(COMMAND)
    if found is None:
        raise ToolError(
            f"{COMMAND}: not found, needed by gate sanitizer. Install the extra cuda12 "
            "or cuda13, or put the CUDA toolkit's bin folder on PATH"
        )
    return Path(found).resolve()


def sanitizer_command(
    tool: Tool, check: str, *, xml: Path, padding_bytes: int
) -> list[str | Path]:
    """The command in front of the process to be checked."""
    padding = ["--padding", str(padding_bytes)] if check == "memcheck" else []
    return [
        tool.path,
        "--tool",
        check,
        "--xml",
        "--save",
        xml,
        "--error-exitcode",
        str(ERROR_EXIT_STATUS),
        "--show-backtrace",
        "no",
        "--launch-timeout",
        "60",
        *padding,
    ]
