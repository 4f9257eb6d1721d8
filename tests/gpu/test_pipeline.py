"""The main job on a device: a claim that holds, and claims that must not."""

import json
import os
import subprocess
import sys
import time

import pytest
import yaml

from conftest import snakemake
from fivegates.cli import main

pytestmark = pytest.mark.gpu
CLAIM = "config/claims/triad-vec4.yaml"
RECEIPT = "results/receipt.json"
PYTHONPATH = os.pathsep.join(filter(None, sys.path))


def judged(tree, **candidate):
    """Receipt and exit status of `verify`, with the candidate changed."""
    claim = yaml.safe_load((tree / CLAIM).read_text())
    claim["candidate"] |= candidate
    (tree / CLAIM).write_text(yaml.safe_dump(claim))
    completed = snakemake(tree, RECEIPT)
    assert completed.returncode == 0, completed.stdout
    receipt = json.loads((tree / RECEIPT).read_text())
    return receipt, main(["verify", str(tree / RECEIPT)])


def test_triad_vec4_is_faster_and_the_null_is_not(tree):
    start = time.monotonic()
    receipt, status = judged(tree)
    assert time.monotonic() - start < 90
    assert (status, receipt["verdict"]["status"]) == (0, "supported")
    assert receipt["result"]["outcome"] == "faster"
    assert {gate["status"] for gate in receipt["gates"]} == {"pass"}
    for path in sorted((tree / "results/triad-vec4/timing").glob("s*.json")):
        found = json.loads(path.read_text())["result"]["derived"]["statistics"]
        assert found["null_outcome"] in ("equivalent", "inconclusive")
        assert found["broken_laws"] == []
    assert one_more_session(tree) == 0
    receipt = json.loads((tree / "results/triad-vec4/receipt.json").read_text())
    measurement = receipt["measurement"]
    assert (measurement["planned_sessions"], measurement["sessions"]) == (3, 4)
    assert receipt["result"]["outcome"] == "faster"


def one_more_session(tree):
    command = [sys.executable, "-m", "fivegates", "sessions", "add", "triad-vec4"]
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    return subprocess.run(command, cwd=tree, env=environment, check=False).returncode


def test_kernel_against_itself_is_not_supported(tree):
    receipt, status = judged(
        tree,
        source="kernels/triad/scalar.cu",
        entry="triad_scalar",
        grid=["ceil_div(n, 256)"],
    )
    assert (status, receipt["verdict"]["status"]) == (1, "not-supported")
    assert receipt["result"]["outcome"] == "equivalent"


def test_inclusive_guard_is_refused_by_memcheck(tree):
    receipt, status = judged(
        tree,
        source="tests/kernels/triad_inclusive_guard.cu",
        entry="triad_inclusive_guard",
        grid=["ceil_div(n, 256)"],
    )
    assert (status, receipt["verdict"]["status"]) == (1, "refused")
    assert receipt["verdict"]["message"].endswith(
        "in triad_inclusive_guard at tests/kernels/triad_inclusive_guard.cu:9 "
        "block (0,0,0) thread (1,0,0)"
    )
    assert "result" not in receipt


def test_kernel_that_stops_working_is_refused_by_timing(tree):
    """corpus E04: right in gates 1 and 2, wrong in the timed calls."""
    receipt, status = judged(
        tree,
        source="tests/kernels/triad_lazy.cu",
        entry="triad_lazy",
        grid=["ceil_div(n, 256)"],
    )
    assert (status, receipt["verdict"]["status"]) == (1, "refused")
    assert receipt["verdict"]["reason"] == "timed-output-wrong"
    assert "result" not in receipt
