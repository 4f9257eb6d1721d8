import dataclasses
import json

import pytest

from fivegates.conclusion import conclude, receipt_status
from fivegates.errors import ArtifactError
from fivegates.evidence import record_names
from fivegates.receipt import (
    PROVENANCE,
    build,
)
from fivegates.record import Reason, Verdict
from fivegates.schema import check
from trees import RECEIPTS, REFUSED, SUPPORTED, evidence_of

# Fields of a receipt that the field's text asks for at least.
SEED_FIELDS = (
    "claim",
    "source.repository",
    "source.commit",
    "source.file_sha256",
    "source.binary_sha256",
    "source.compiler",
    "source.flags",
    "baseline_source.commit",
    "baseline_source.file_sha256",
    "baseline_source.binary_sha256",
    "hardware.gpu_uuid",
    "hardware.gpu_name",
    "hardware.compute_capability",
    "hardware.driver",
    "hardware.cuda_runtime",
    "hardware.power_limit_w",
    "hardware.clock_policy",
    "hardware.isolation",
    "workload.operation",
    "workload.dtype",
    "workload.sizes.n",
    "workload.threads_per_block",
    "workload.cache_regime",
    "workload.rotation_slots",
    "correctness.reference",
    "correctness.atol",
    "correctness.rtol",
    "correctness.failures",
    "correctness.memcheck_errors",
    "correctness.sanitizer_exit_status",
    "correctness.sanitizer_version",
    "measurement.timer",
    "measurement.warmup",
    "measurement.samples",
    "measurement.rounds",
    "measurement.order",
    "measurement.raw_samples",
    "measurement.raw_sample_sha256",
    "measurement.quantiles",
    "measurement.profiler_attached",
    "artifacts.systems",
    "artifacts.compute",
    "artifacts.sanitizer",
    "artifacts.gpu_state_before",
    "artifacts.gpu_state_after",
    "result.baseline_median_us",
    "result.candidate_median_us",
    "result.round_speedup_median",
    "result.round_speedup_interval",
    "result.end_to_end_effect",
)


def receipt(name):
    return json.loads((RECEIPTS / name / "receipt.json").read_text())


@pytest.fixture(scope="module")
def supported():
    return evidence_of(RECEIPTS / SUPPORTED)


def kind_of(path):
    """How the value at a path came about: the longest path of the marks counts."""
    parts = path.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((PROVENANCE[p] for p in prefixes if p in PROVENANCE), None)


def leaves(value, path=""):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path


@pytest.mark.parametrize("path", SEED_FIELDS)
def test_receipt_has_the_field(path):
    inner = receipt(SUPPORTED)
    for key in path.split("."):
        assert key in inner
        inner = inner[key]


@pytest.mark.parametrize("name", [SUPPORTED, REFUSED])
def test_every_value_is_marked_measured_derived_or_declared(name):
    for path in leaves(receipt(name)):
        assert kind_of(path) in ("measured", "derived", "declared"), path


def test_every_mark_is_of_a_field_that_exists():
    document = receipt(SUPPORTED)
    for path in PROVENANCE:
        inner = document
        for key in path.split("."):
            assert key in inner, path
            inner = inner[key]


def test_receipt_is_a_function_of_its_evidence(supported):
    assert json.loads(json.dumps(build(supported))) == receipt(SUPPORTED)


def with_verdict(evidence, name, verdict):
    record = dataclasses.replace(evidence.records[name], verdict=verdict)
    return {**evidence.records, name: record}


@pytest.mark.parametrize("status", ["fail", "not-run", "inconclusive"])
@pytest.mark.parametrize("name", record_names("cuda", 3))
def test_claim_is_supported_only_when_every_gate_passed(supported, name, status):
    """For every reason: nothing short of a pass may end as supported."""
    assert conclude(supported.backend, supported.records)[0] == "supported"
    for reason in Reason:
        verdict = Verdict(status=status, reason=reason, message="why")
        records = with_verdict(supported, name, verdict)
        found, cause, message = conclude(supported.backend, records)
        assert found != "supported"
        assert (cause, message) == (reason, f"{name}: why")
        if status == "fail":
            assert found == "refused"


@pytest.mark.parametrize("outcome", ["slower", "equivalent"])
def test_claim_that_was_measured_and_is_not_so(supported, outcome):
    timing = supported.records["timing"]
    derived = {**timing.result["derived"], "outcome": outcome}
    changed = dataclasses.replace(timing, result={**timing.result, "derived": derived})
    found = conclude(supported.backend, {**supported.records, "timing": changed})
    assert found == ("not-supported", outcome, f"candidate is {outcome}")


def test_failure_is_named_before_what_could_not_be_decided(supported):
    records = with_verdict(
        supported,
        "candidate/build",
        Verdict(status="not-run", reason=Reason.TIMEOUT, message="first"),
    )
    evidence = dataclasses.replace(supported, records=records)
    failed = Verdict(status="fail", reason=Reason.RACE, message="later")
    records = with_verdict(evidence, "candidate/sanitizer/racecheck", failed)
    assert conclude(supported.backend, records)[1] == Reason.RACE


@pytest.mark.parametrize("block", ["measurement", "result", "roofline"])
def test_schema_forbids_performance_where_there_is_none(block):
    performance = receipt(SUPPORTED)[block]
    host = {**receipt(REFUSED), "backend": "host", "status": "preflight"}
    del host["hardware"]
    host["verdict"] = {"status": "inconclusive", "reason": "no-device", "message": "-"}
    check(host, "receipt", "host", ArtifactError)
    for document in (host, receipt(REFUSED)):
        with pytest.raises(
            ArtifactError, match=f"r: {block} is .* expected no such field here"
        ):
            check({**document, block: performance}, "receipt", "r", ArtifactError)


@pytest.mark.parametrize("commit", ["", "unknown", "a1b2c3d", "0" * 40])
def test_commit_is_whole_or_null(commit):
    """corpus G05"""
    document = receipt(SUPPORTED)
    document["source"]["commit"] = commit
    with pytest.raises(ArtifactError) as error:
        check(document, "receipt", "r.json", ArtifactError)
    assert str(error.value) == (
        f"r.json: source.commit is {commit!r} (str), "
        "expected a full commit of 40 hex digits, or null"
    )


def test_sessions_of_one_minute_are_provisional(supported):
    assert receipt_status(supported) == "provisional"


def test_sessions_that_agree_an_hour_apart_confirm(supported):
    late = supported.records["timing/s03"]
    start = late.run.started_at
    hours = f"{(int(start[11:13]) + 2) % 24:02d}"
    day = f"{int(start[8:10]) + (int(start[11:13]) >= 22):02d}"
    moved = f"{start[:8]}{day}T{hours}{start[13:]}"
    run = dataclasses.replace(late.run, started_at=moved)
    records = {
        **supported.records,
        "timing/s03": dataclasses.replace(late, run=run),
    }
    evidence = dataclasses.replace(supported, records=records)
    assert receipt_status(evidence) == "confirmed"


def test_no_performance_number_is_printed_for_a_refused_claim(supported):
    """A claim that gate 4 refuses has been timed; its block says nothing of that."""
    verdict = Verdict(status="fail", reason=Reason.ABOVE_ROOF, message="impossible")
    records = with_verdict(supported, "roofline", verdict)
    refused = build(dataclasses.replace(supported, records=records))
    assert not {"measurement", "result", "roofline"} & set(refused)
    (timing,) = (line for line in refused["summary"] if line.startswith("timing"))
    assert timing == "timing     pass         not shown: the claim is refused"
