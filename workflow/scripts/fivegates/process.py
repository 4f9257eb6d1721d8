"""Child processes: bounded in time, ended as a group, recorded portably."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fivegates.errors import ToolError

END_TIMEOUT_S = 10


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
    memory_bytes: int | None = None,
    file_bytes: int | None = None,
    errors_bytes: int | None = None,
) -> Completed:
    """Run a command in a process group of its own; end the group when time is up.

    `memory_bytes` bounds the address space, `file_bytes` each file that it writes;
    of stderr the first `errors_bytes` are kept.
    """
    limits = _limits(memory_bytes, file_bytes)
    arguments = [*limits, *(str(word) for word in command)]
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
            f"{command[0]}: {error.strerror}, expected an executable"
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
        stderr=stderr[:errors_bytes].decode(errors="replace"),
    )


@contextmanager
def beside(command: Sequence[str | Path]) -> Iterator[None]:
    """Run a command while the body runs; it ends when its standard input does.

    ToolError with its last words when it fails.
    """
    try:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{command[0]}: {error.strerror}, expected an executable"
        ) from None
    try:
        yield
        _, stderr = process.communicate(timeout=END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{command[1]}: runs on, expected it to end with its standard input"
        ) from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        words = stderr.decode(errors="replace").strip().splitlines() or ["no output"]
        raise ToolError(f"{command[1]}: {words[-1]}, expected it to end well")


def _limits(memory_bytes: int | None, file_bytes: int | None) -> list[str]:
    """Words before a command that bound it: a shell that becomes the command."""
    bounds = {"-v": (memory_bytes, 1024), "-f": (file_bytes, 512)}
    settings = [
        f"ulimit {flag} {-(-value // unit)} && "
        for flag, (value, unit) in bounds.items()
        if value is not None
    ]
    return ["/bin/sh", "-c", f'{"".join(settings)}exec "$@"', "sh"] if settings else []


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
