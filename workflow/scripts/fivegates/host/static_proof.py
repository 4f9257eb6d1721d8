"""Asks SentryWard, which is optional, about races and barriers in a kernel's PTX.

It covers every schedule of one launch. It takes buffers as distinct and unbounded, so
it says nothing about bounds, and it calls threads that write equal values a race.
"""

import json
import sys
import tempfile
from importlib import metadata
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

from fivegates.arm import Arm, Launch
from fivegates.host import device_compile
from fivegates.job import Job
from fivegates.process import Completed, run

PTX_ARCHITECTURE = 100  # the one that SentryWard is made for
DEFINITE = ("race_free", "potential_race", "not_wellsynced")
INCONCLUSIVE = "inconclusive"
MEMORY_LIMIT_MIB = 4096
GRACE_S = 5.0
PROOF_TIMEOUT_S = 60.0
DETAIL_LIMIT = 300


def prove(
    text: str, entry: str, launch: Launch, timeout_s: float
) -> dict[str, Any] | None:
    """SentryWard's answer about `entry`, a symbol of this PTX; None if not installed.

    `result` is one of DEFINITE or INCONCLUSIVE, which a timeout (seconds), a crash and
    whatever the tool does not support are. `detail` is one line.
    """
    try:
        version = metadata.version("sentryward")
    except metadata.PackageNotFoundError:
        return None
    with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
        kernel, question = Path(temporary, "kernel.ptx"), Path(temporary, "input.json")
        kernel.write_text(text)
        question.write_text(json.dumps(request(entry, launch)))
        command: list[str | Path] = [sys.executable, "-P", "-m", "sentryward", kernel]
        limits = ["--timeout", f"{timeout_s}"]
        limits += ["--memory-limit-mib", f"{MEMORY_LIMIT_MIB}"]
        completed = run(
            [*command, "--input", question, *limits], timeout_s=timeout_s + GRACE_S
        )
    result, detail = answer(completed)
    return {"tool": f"SentryWard {version}", "result": result, "detail": detail}


def prove_arm(source: str, arm: Arm, job: Job) -> dict[str, Any] | None:
    """The answer about an arm at the smallest launch that has more than one block.

    None where SentryWard or NVRTC is not installed.
    """
    if find_spec("sentryward") is None or device_compile.available() is None:
        return None
    text, symbol = device_compile.ptx(
        source,
        name=arm.source,
        entry=arm.entry,
        options=arm.options,
        architecture=PTX_ARCHITECTURE,
    )
    launches = sorted((case.launch for case in job.cases), key=_threads)
    several = [launch for launch in launches if prod(launch.grid) > 1]
    return prove(text, symbol, (several or launches[-1:])[0], PROOF_TIMEOUT_S)


def _threads(launch: Launch) -> int:
    return prod(launch.grid) * prod(launch.block)


def request(entry: str, launch: Launch) -> dict[str, Any]:
    """The tool's input file. Scalars carry values, since branches may turn on them."""
    return {
        "schema": "spverify.kernel-input/v1",
        "entry": entry,
        "launch": {
            "grid_dim": launch.grid,
            "block_dim": launch.block,
            "dynamic_shared_bytes": launch.dynamic_shared_bytes,
        },
        "arguments": [
            {"parameter": index, **_scalar(argument.name, argument.value or 0)}
            for index, argument in enumerate(launch.arguments)
            if argument.kind == "scalar"
        ],
    }


def answer(completed: Completed) -> tuple[str, str]:
    """Result and detail in what the tool printed."""
    if completed.exit_status is None:
        return INCONCLUSIVE, "no answer in time"
    try:
        return _read(json.loads(completed.stdout), completed.exit_status)
    except (AttributeError, KeyError, TypeError, ValueError):
        return INCONCLUSIVE, _line(f"no readable answer: {completed.last_words}")


def _read(report: dict[str, Any], exit_status: int) -> tuple[str, str]:
    result, checks = report["result"], report["checks"]
    if result not in DEFINITE:
        return INCONCLUSIVE, _line(_reason(report))
    if exit_status != 0:
        return INCONCLUSIVE, f"{result}, then exit status {exit_status}"
    if result != "race_free":
        return result, _line(_witness(report))
    if not checks["synchronization"] == checks["memory"] == "passed":
        return INCONCLUSIVE, _line(f"race_free, with checks {checks}")
    return result, "buffers taken as distinct, bounds not checked"


def _scalar(kind: str, value: float) -> dict[str, Any]:
    bits = int(kind[-2:])
    if kind.startswith("float"):
        return {"type": f"f{bits}", "value": value}
    # NVRTC declares signed parameters unsigned, and the tool wants the declared type.
    return {"type": f"u{bits}", "value": int(value) % 2**bits}


def _line(text: str) -> str:
    return " ".join(text.split())[:DETAIL_LIMIT]


def _reason(report: dict[str, Any]) -> str:
    first: dict[str, str] = next(iter(report.get("diagnostics") or ()), {})
    words = (report["result"], first.get("code"), first.get("message"))
    return ": ".join(word for word in dict.fromkeys(words) if word)


def _witness(report: dict[str, Any]) -> str:
    try:
        if report["result"] == "not_wellsynced":
            event = report["rejection"]["blocked"]["events"][0]
            places = {place["event"]: place for place in report["source_events"]}
            return f"blocked at {_place(places[event])}: {_reason(report)}"
        race = report["races"][0]
        both = ", ".join(
            f"{one['mode']} at {_place(one['location'])} by thread {one['actor']}"
            for one in (race["first"], race["second"])
        )
        return f"{race['region']['address_space']} memory: {both}"
    except (AttributeError, IndexError, KeyError, TypeError):
        return _reason(report)


def _place(location: dict[str, Any]) -> str:
    # `device_compile` puts a `/` before the repository path, as `launch` does.
    return f"{location['file'].removeprefix('/')}:{location['line']}"
