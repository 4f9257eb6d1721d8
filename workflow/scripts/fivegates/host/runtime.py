"""The runner's executable: built once for a compiler and kept in the user's cache."""

import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from fivegates.errors import ToolError
from fivegates.host.compiler import RUNNER, Compiler, invoke
from fivegates.process import Completed

HERE = Path(__file__).parent
PARTS = (
    *("runner", "confine", "callbacks", "checker", "findings"),
    *("census", "scheduler", "memory"),
)
LINK = ("-rdynamic", "-Wl,-z,now", "-ldl")


@cache
def runner(compiler: Compiler, *, address: bool) -> Path:
    """Path of the runner, built now unless this compiler has built these sources."""
    flags = (*RUNNER, *(("-DFIVEGATES_ADDRESS",) if address else ()))
    target = _cache() / f"runner-{_digest(compiler, flags)}"
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        built = _build(compiler, flags, Path(temporary), address=address)
        built.replace(target)
    return target


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "fivegates"


def sources_sha256() -> str:
    """Digest of the runtime's sources."""
    content = hashlib.sha256()
    for path in sorted(HERE.rglob("*.[ch]*")):
        if path.suffix in (".cpp", ".hpp", ".h"):
            content.update(path.read_bytes())
    return content.hexdigest()


def _digest(compiler: Compiler, flags: tuple[str, ...]) -> str:
    identity = repr((sources_sha256(), compiler, flags, LINK))
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def _build(
    compiler: Compiler, flags: tuple[str, ...], folder: Path, *, address: bool
) -> Path:
    def compiled(part: str) -> Path:
        target = folder / f"{part}.o"
        _require(
            invoke(
                compiler, "-std=c++17", *flags, "-c", HERE / f"{part}.cpp", "-o", target
            )
        )
        return target

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        objects = list(pool.map(compiled, PARTS))
    program = folder / "runner"
    sanitizer = ("-fsanitize=address",) if address else ()
    _require(invoke(compiler.for_c, *sanitizer, *objects, "-o", program, *LINK))
    return program


def _require(completed: Completed) -> None:
    if completed.exit_status != 0:
        raise ToolError(f"host runtime: does not compile: {completed.last_words}")
