"""Child processes: bounded in time, ended as a group, recorded portably."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fivegates.errors import ToolError


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """How a process ended; `exit_status` is None when its time ran out."""

    exit_status: int | None
    stdout: str
    stderr: str

    @property
    def signal_name(self) -> str | None:
        """Name of the signal that ended it, if one did."""
        if self.exit_status is None or self.exit_status >= 0:
            return None
        return signal.Signals(-self.exit_status).name

    @property
    def last_words(self) -> str:
        """Last line of stderr, or of stdout."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return lines[-1] if lines else "no output"


def run(
    command: Sequence[str | Path],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
) -> Completed:
    """Run a command in a process group of its own; end the group when time is up."""
    arguments = [str(word) for word in command]
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{arguments[0]}: {error.strerror}, expected an executable"
        ) from None
    exit_status = None
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        exit_status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return Completed(
        exit_status=exit_status,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
    )


def portable(
    command: Sequence[str | Path], names: Mapping[str, str]
) -> tuple[str, ...]:
    """The command as a record keeps it: this machine's paths replaced by names."""
    replaced = {**names, sys.executable: "python", f"{Path.cwd()}/": ""}
    words = []
    for word in map(str, command):
        for path, name in replaced.items():
            word = word.replace(path, name)
        words.append(word)
    return tuple(words)
