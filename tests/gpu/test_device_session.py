"""Sessions on a device: every boundary and regime, and kernels that cheat the timer."""

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from fivegates.claim import launch, rotation_slots
from fivegates.fitness import judge
from fivegates.plan import (
    PARTS,
    expected_blocks,
    parse_blocks,
    parse_samples,
    plan,
    poisoned_samples,
)
from fivegates.plan import document as plan_document
from fivegates.record import Reason
from fivegates.rounds import Timings
from fivegates.session import derive
from fivegates.state import STATE_COLUMNS
from fivegates.store import canonical
from fivegates.trial import timed_values

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow/scripts"
DIGEST = "0" * 64
STATE = {
    "throttle_reasons": [],
    "compute_processes": 1,
    "sm_clock_max_mhz": 1980,
    "readings_in_rounds": 9,
}
KINDS = [
    ("device", "buffer-rotated"),
    ("device", "same-buffer"),
    ("device", "swept"),
    ("graph", "buffer-rotated"),
    ("launch", "same-buffer"),
    ("launch", "swept"),
    ("end-to-end", "same-buffer"),
    ("end-to-end", "buffer-rotated"),
]


def compiled(arm, device):
    from fivegates.launch import compile_source

    return compile_source(
        (ROOT / arm.source).read_text(),
        name=arm.source,
        entry=arm.entry,
        options=arm.options,
        architecture=device.architecture,
    )


@pytest.fixture(scope="module")
def queue():
    from fivegates.held_queue import HeldQueue

    return HeldQueue(20)


@pytest.fixture
def timed(freeze, document, policy, triad, queue):
    """Statistics and verdict of one session; `candidate` may be another kernel."""

    def run(boundary, regime, *, candidate=None, rounds=8):
        from fivegates.device import identify
        from fivegates.measure import Image, Session

        policy["timing"] |= {"rounds": rounds}
        document["workload"] |= {"boundary": boundary, "cache_regime": regime}
        if candidate is not None:
            entry = f"triad_{candidate}"
            source = f"tests/kernels/{entry}.cu"
            grid = ["ceil_div(n, 256)"]
            document["candidate"] |= {"source": source, "entry": entry, "grid": grid}
        claim = freeze(document)
        device = identify()
        slots = rotation_slots(claim, triad, device.l2_bytes)
        arms = {}
        for role, arm in claim.arms.items():
            built = compiled(arm, device)
            timed_launch = launch(claim, triad, role, claim.workload.sizes)
            arms[role] = Image(
                cubin=built.cubin, symbol=built.symbol, launch=timed_launch
            )
        session = Session(
            arms=arms,
            values=timed_values(claim, triad, 7),
            slots=slots,
            tolerance=claim.tolerance,
            policy=claim.policy.timing,
            kind=claim.workload.kind,
            zero_s=time.monotonic(),
            queue=queue,
        )
        session.warm_up()
        rounds = plan(claim, DIGEST, 1)
        session.run(rounds)
        assert [(b.comparison, b.round, b.block, b.role) for b in session.blocks] == [
            row[:4] for row in expected_blocks(rounds)
        ]
        timings = Timings(
            kind=session.kind,
            samples=tuple(session.samples),
            blocks=tuple(session.blocks),
            poisoned=poisoned_samples(rounds),
        )
        found = derive(timings, session.trace, STATE, claim)
        measured = {"exit_status": 0, "facts": session.facts()}
        return found, judge(measured, found, claim), session

    return run


@pytest.mark.parametrize(("boundary", "regime"), KINDS)
def test_every_boundary_has_its_floor_and_right_outputs(timed, boundary, regime):
    found, verdict, session = timed(boundary, regime)
    assert verdict.status != "fail"
    facts = session.facts()
    assert (sum(facts["failed_elements"].values()), facts["expired_blocks"]) == (0, 0)
    assert found["kind"] == f"{boundary}/{regime}"
    for role in ("baseline", "candidate"):
        # Transfers take so long that a kernel of microseconds drowns in their noise.
        ceiling = found[role]["median_us"] * (1.2 if boundary == "end-to-end" else 1)
        assert 0 < found["bare_floor"]["median_us"] < ceiling
    assert found["control_ratio"] == pytest.approx(2, rel=0.02)
    assert found["cycles"] is not None
    assert found["null_outcome"] in ("equivalent", "inconclusive")


def test_boundaries_order_as_what_they_hold(timed):
    medians = {
        boundary: timed(boundary, "same-buffer")[0]["baseline"]["median_us"]
        for boundary in ("device", "graph", "launch", "end-to-end")
    }
    assert sorted(medians, key=medians.__getitem__) == list(medians)


def test_warm_cache_is_faster_than_a_rotated_or_swept_one(timed):
    """corpus D09: the regimes are different numbers."""
    warm, swept, rotated = (
        timed("device", regime)[0]
        for regime in ("same-buffer", "swept", "buffer-rotated")
    )
    assert warm["baseline"]["median_us"] < 0.9 * rotated["baseline"]["median_us"]
    alone = warm["baseline_single"]["median_us"]
    assert alone < 0.9 * swept["baseline"]["median_us"]


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("counting", Reason.TIMED_OUTPUT_WRONG),
        ("lazy", Reason.TIMED_OUTPUT_WRONG),
        ("memo", Reason.REPEATED_VALUES),
    ],
)
def test_kernel_that_saves_work_where_it_can_is_refused(timed, kernel, reason):
    _, verdict, _ = timed("device", "same-buffer", candidate=kernel, rounds=16)
    assert (verdict.status, verdict.reason) == ("fail", reason)


def test_sampler_is_a_process_of_its_own(tmp_path):
    from fivegates.device import current_uuid
    from fivegates.process import beside

    words = ["--gpu-uuid", current_uuid(), "--zero-s", repr(time.monotonic())]
    script = SCRIPTS / "sample_state.py"
    with beside([sys.executable, script, *words, "--folder", tmp_path]):
        time.sleep(0.8)
    header, *rows = (tmp_path / "state.csv").read_text().splitlines()
    assert header == ",".join(STATE_COLUMNS)
    times = [float(row.partition(",")[0]) for row in rows]
    assert times == sorted(times)
    assert len(times) > 5
    conditions = json.loads((tmp_path / "conditions.json").read_text())
    assert conditions["gpu_uuid"] == current_uuid()
    assert conditions["throttle_reasons_reported"] is True


def test_cold_start_has_its_parts_in_fresh_processes(
    freeze, document, policy, tmp_path
):
    from fivegates.device import identify

    policy["timing"] |= {"rounds": 3, "every": {}}
    document["workload"] |= {"boundary": "cold-start", "cache_regime": "same-buffer"}
    claim, device = freeze(document), identify()
    frozen = {"schema": "fivegates:frozen_claim/v2", "name": "triad-vec4"}
    frozen |= {"claim": document, "policy": policy}
    backend = {"schema": "fivegates:backend/v1", "backend": "cuda", "platform": "x"}
    backend |= {"device": asdict(device), "packages": {}}
    files = {
        "claim.json": canonical(frozen),
        "backend.json": canonical(backend),
        "plan.json": canonical(plan_document(claim, DIGEST, 1)),
    }
    words = ["--folder", tmp_path, "--zero-s", repr(time.monotonic())]
    for role, arm in claim.arms.items():
        built = compiled(arm, device)
        files[f"{role}-built.cubin"] = built.cubin
        words += [f"--{role}", tmp_path / f"{role}-built.cubin", built.symbol]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for name in ("claim", "backend", "plan"):
        words += [f"--{name}", tmp_path / f"{name}.json"]
    script = SCRIPTS / "measure_cold_start.py"
    done = subprocess.run(
        [sys.executable, script, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert sum(facts["failed_elements"].values()) == 0
    expected = list(expected_blocks(plan(claim, DIGEST, 1), PARTS))
    timings = Timings(
        kind=claim.workload.kind,
        samples=parse_samples(
            (tmp_path / "samples.csv").read_text(),
            [(*row[:4], 0, 1) for row in expected],
            "samples.csv",
        ),
        blocks=parse_blocks(
            (tmp_path / "blocks.csv").read_text(),
            [row[:4] for row in expected],
            "blocks.csv",
        ),
        poisoned={},
    )
    found = derive(timings, (), STATE, claim)
    assert judge({"exit_status": 0, "facts": facts}, found, claim).status != "fail"
    median = {"main": found["baseline"]["median_us"]}
    for part in PARTS:
        median[part] = found["parts"][part]["baseline"]["median_us"]
    assert median["context"] > median["load"] > 0
    parts = median["context"] + median["load"] + median["first-launch"]
    assert parts == pytest.approx(median["main"], rel=0.2)
