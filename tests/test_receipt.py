import dataclasses
import json
from datetime import datetime

import pytest

from fivegates import v1
from fivegates.archive import load_evidence
from fivegates.conclusion import conclude, receipt_status
from fivegates.errors import ArtifactError
from fivegates.evidence import record_names
from fivegates.receipt import (
    PROVENANCE,
    build,
)
from fivegates.record import Reason, Verdict
from fivegates.schema import check
from fivegates.store import Store
from trees import (
    RECEIPTS,
    SUPPORTED,
    TREES,
    V1_REFUSED,
    V1_SUPPORTED,
    V2_SUPPORTED,
    add_session,
    copied,
    evidence_of,
    moved,
)
from trees import receipt_of as receipt

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
)
# What the field's text calls a round's speedup and its interval is of sessions now.
SEED_FIELDS_IN = {
    V1_SUPPORTED: (
        "result.round_speedup_median",
        "result.round_speedup_interval",
        "result.end_to_end_effect",
    ),
    V2_SUPPORTED: (
        "workload.boundary",
        "measurement.location",
        "measurement.stop",
        "measurement.planned_sessions",
        "result.kind",
        "result.method",
        "result.unit",
        "result.speedup.estimate",
        "result.speedup.lower",
        "result.speedup.upper",
        "result.speedup.confidence",
        "result.session_speedups",
        "result.null_interval",
        "result.smallest_effect_ratio",
        "result.smallest_effect_power",
        "result.components.session_sd",
        "result.clock_commands.restore",
        "calibration.null_experiments",
        "calibration.null_excluding_one",
        "calibration.smallest_planted_ratio",
        "calibration.sha256",
    ),
}
MARKS = {
    V1_SUPPORTED: v1.PROVENANCE,
    V1_REFUSED: v1.PROVENANCE,
    V2_SUPPORTED: PROVENANCE,
}


@pytest.fixture(scope="module", params=SUPPORTED)
def supported(request):
    return evidence_of(RECEIPTS / request.param)


@pytest.fixture(scope="module")
def second():
    return evidence_of(RECEIPTS / V2_SUPPORTED)


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A tree of version 2 with a session two hours behind the last."""
    tree = copied(V2_SUPPORTED, tmp_path_factory.mktemp("added"))
    add_session(tree, after_s=7200)
    return tree


def kind_of(path, marks):
    """How the value at a path came about: the longest path of the marks counts."""
    parts = path.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((marks[p] for p in prefixes if p in marks), None)


def leaves(value, path=""):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value:
            yield from leaves(item, path)
    else:
        yield path


@pytest.mark.parametrize(
    ("name", "path"),
    [(name, path) for name in SUPPORTED for path in SEED_FIELDS + SEED_FIELDS_IN[name]],
)
def test_receipt_has_the_field(name, path):
    inner = receipt(name)
    for key in path.split("."):
        assert key in inner
        inner = inner[key]


@pytest.mark.parametrize("name", TREES)
def test_every_value_is_marked_measured_derived_or_declared(name):
    marks = receipt(name)["provenance"]
    assert marks == MARKS[name]
    for path in leaves(receipt(name)):
        assert kind_of(path, marks) in ("measured", "derived", "declared"), path


@pytest.mark.parametrize("name", SUPPORTED)
def test_every_mark_is_of_a_field_that_exists(name):
    document = receipt(name)
    for path in MARKS[name]:
        inner = document
        for key in path.split("."):
            assert key in inner, path
            inner = inner[key]


@pytest.mark.parametrize("name", TREES)
def test_receipt_is_a_function_of_its_evidence(name):
    built = build(evidence_of(RECEIPTS / name))
    assert json.loads(json.dumps(built)) == receipt(name)


@pytest.mark.parametrize("name", TREES)
def test_receipt_is_of_the_version_of_its_claim(name):
    document = receipt(name)
    assert document["schema"] == f"fivegates:receipt/{name[:2]}"
    check(document, "receipt", "r", ArtifactError)
    # Only the second version cites a calibration.
    assert ("calibration" in document) == (name == V2_SUPPORTED)


def test_receipt_without_a_calibration_says_so(second):
    built = build(dataclasses.replace(second, calibration=None))
    assert built["calibration"] is None
    check(json.loads(json.dumps(built)), "receipt", "r", ArtifactError)


def test_calibration_is_cited_with_its_false_positives(second):
    document = json.loads((RECEIPTS / V2_SUPPORTED / "calibration.json").read_text())
    nulls = [kind for kind in document["derived"] if kind["planted"] == 0]
    cited = receipt(V2_SUPPORTED)["calibration"]
    assert cited["null_experiments"] == sum(kind["experiments"] for kind in nulls)
    assert cited["null_excluding_one"] == sum(kind["excluding_one"] for kind in nulls)
    assert cited["measured_at"] == document["measured_at"]


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
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_schema_forbids_performance_where_there_is_none(block, version):
    performance = receipt(f"{version}/triad-vec4")[block]
    refused = receipt(V1_REFUSED)
    if version == "v2":
        refused |= {"schema": "fivegates:receipt/v2", "calibration": None}
        refused["provenance"] = dict(PROVENANCE)
    host = {**refused, "backend": "host", "status": "preflight"}
    del host["hardware"]
    host["verdict"] = {"status": "inconclusive", "reason": "no-device", "message": "-"}
    check(host, "receipt", "host", ArtifactError)
    for document in (host, refused):
        with pytest.raises(
            ArtifactError, match=f"r: {block} is .* expected no such field here"
        ):
            check({**document, block: performance}, "receipt", "r", ArtifactError)


@pytest.mark.parametrize("commit", ["", "unknown", "a1b2c3d", "0" * 40])
@pytest.mark.parametrize("name", SUPPORTED)
def test_commit_is_whole_or_null(commit, name):
    """corpus G05"""
    document = receipt(name)
    document["source"]["commit"] = commit
    with pytest.raises(ArtifactError) as error:
        check(document, "receipt", "r.json", ArtifactError)
    assert str(error.value) == (
        f"r.json: source.commit is {commit!r} (str), "
        "expected a full commit of 40 hex digits, or null"
    )


def test_sessions_of_one_minute_are_provisional(supported):
    assert receipt_status(supported) == "provisional"


def started(evidence, name, after_s):
    """Evidence in which a session began later than it did."""
    record = evidence.records[name]
    begin = moved(record.run.started_at, after_s)
    run = dataclasses.replace(record.run, started_at=begin)
    return changed(evidence, name, run=run)


def changed(evidence, name, **fields):
    record = dataclasses.replace(evidence.records[name], **fields)
    return dataclasses.replace(evidence, records={**evidence.records, name: record})


def stated(evidence, name, **fields):
    """Evidence in which the state of the device over a session was another."""
    result = json.loads(json.dumps(evidence.records[name].result))
    result["derived"]["statistics"]["state"] |= fields
    return changed(evidence, name, result=result)


def test_sessions_that_agree_an_hour_apart_confirm(supported):
    begins = {
        datetime.fromisoformat(record.run.started_at): name
        for name, record in supported.records.items()
        if name.startswith("timing/")
    }
    span_s = (max(begins) - min(begins)).total_seconds()
    missing_s = supported.claim.policy.timing.confirm_after_s - span_s
    last = begins[max(begins)]
    assert receipt_status(started(supported, last, missing_s)) == "confirmed"
    assert receipt_status(started(supported, last, missing_s - 1)) == "provisional"


def test_session_that_was_added_confirms(added):
    assert receipt_status(evidence_of(added)) == "confirmed"
    assert json.loads((added / "receipt.json").read_text())["status"] == "confirmed"


@pytest.mark.parametrize("status", ["fail", "not-run", "inconclusive"])
@pytest.mark.parametrize("name", ["timing", "timing/s04"])
def test_nothing_confirms_but_a_pass(added, name, status):
    """Of the sessions the one that lies apart, and what they say together."""
    verdict = Verdict(status=status, reason=Reason.THROTTLED, message="why")
    evidence = changed(evidence_of(added), name, verdict=verdict)
    assert receipt_status(evidence) == "provisional"


def test_two_sessions_are_too_few_to_confirm(second):
    evidence = started(second, "timing/s03", 7200)
    assert receipt_status(evidence) == "confirmed"
    verdict = Verdict(status="inconclusive", reason=Reason.THROTTLED, message="why")
    evidence = changed(evidence, "timing/s01", verdict=verdict)
    assert receipt_status(evidence) == "provisional"


@pytest.mark.parametrize(
    "fields",
    [
        {"missing": ["sm_clock_mhz"]},
        {"missing": ["compute_processes"]},
        {"missing": ["throttle_reasons"]},
        {"longest_gap_s": 1.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["timing/s01", "timing/s04"])
def test_session_whose_state_was_not_seen_confirms_nothing(added, name, fields):
    """corpus D20: in any session, also in one that was added."""
    evidence = stated(evidence_of(added), name, **fields)
    assert receipt_status(evidence) == "provisional"


def test_claims_of_version_1_know_their_planned_sessions_only():
    """What else lies beside those is no evidence of theirs."""
    tree = RECEIPTS / V1_SUPPORTED
    digests = {
        item["name"]: item["sha256"] for item in receipt(V1_SUPPORTED)["evidence"]
    }
    folder = "triad-vec4/timing"
    more = {**digests, f"{folder}/s04.json": digests[f"{folder}/s03.json"]}
    found = load_evidence(Store(tree), "triad-vec4", more)
    assert found.sessions == found.claim.policy.timing.sessions == 3
    assert found == evidence_of(tree)


def test_sessions_of_version_2_are_all_that_the_evidence_names(second, added):
    assert second.sessions == second.claim.policy.timing.sessions == 3
    assert evidence_of(added).sessions == 4


def test_claims_of_version_1_ask_no_state_to_confirm():
    """Their rule is as it was: what was confirmed stays so."""
    evidence = evidence_of(RECEIPTS / V1_SUPPORTED)
    assert "statistics" not in evidence.records["timing/s01"].derived
    assert receipt_status(started(evidence, "timing/s03", 7200)) == "confirmed"


def test_clocks_are_locked_when_every_session_saw_them_locked(second):
    assert build(second)["hardware"]["clock_policy"] == "observed"
    for number in (1, 2, 3):
        second = stated(second, f"timing/s{number:02d}", clock_policy="locked")
        found = build(second)["hardware"]["clock_policy"]
        assert found == ("locked" if number == 3 else "observed")


@pytest.mark.parametrize(
    ("counts", "isolation"),
    [
        ((1.0, 1.0, 1.0), "no other compute process"),
        ((1.0, 2.0, 1.0), "other compute processes"),
        ((1.0, 0.0, 1.0), "unknown"),
        ((1.0, 1.0, None), "unknown"),
    ],
)
def test_isolation_is_what_every_session_saw(second, counts, isolation):
    """Not one process seen, its own included, is not being alone."""
    for number, count in enumerate(counts, start=1):
        second = stated(second, f"timing/s{number:02d}", compute_processes=count)
    assert build(second)["hardware"]["isolation"] == isolation


def test_no_performance_number_is_printed_for_a_refused_claim(supported):
    """A claim that gate 4 refuses has been timed; its block says nothing of that."""
    verdict = Verdict(status="fail", reason=Reason.ABOVE_ROOF, message="impossible")
    records = with_verdict(supported, "roofline", verdict)
    refused = build(dataclasses.replace(supported, records=records))
    assert not {"measurement", "result", "roofline"} & set(refused)
    (timing,) = (line for line in refused["summary"] if line.startswith("timing"))
    assert timing == "timing     pass         not shown: the claim is refused"
