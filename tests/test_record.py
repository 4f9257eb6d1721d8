import dataclasses

import pytest

from fivegates.evidence import record_names
from fivegates.record import (
    Artifact,
    Reason,
    Record,
    Run,
    Verdict,
    denial,
    gate_of,
)
from fivegates.schema import schemas


def artifact(name, digit="a"):
    return Artifact(
        name=name, sha256=digit * 64, size_bytes=1, media_type="application/json"
    )


def record(verdict=None, inputs=()):
    return Record(
        gate="reference",
        claim="c" * 64,
        subject={"candidate": "d" * 64},
        verdict=verdict or Verdict.passed("ok"),
        inputs=tuple(inputs),
        artifacts=(),
        run=Run(command=("python",), environment={}, started_at="", finished_at=""),
        result=None,
    )


CLAIM = artifact("t/claim.json")


def test_gate_runs_when_every_predecessor_passed():
    assert denial([CLAIM], {"candidate/build": record(inputs=[CLAIM])}) is None


@pytest.mark.parametrize("status", ["fail", "inconclusive", "not-run"])
@pytest.mark.parametrize("reason", list(Reason))
def test_nothing_but_a_pass_lets_the_next_gate_run(status, reason):
    """Whatever the reason: not-run is never pass."""
    bad = Verdict(status=status, reason=reason, message="why")
    verdict = denial([CLAIM], {"a": record(), "b": record(bad)})
    assert verdict is not None
    assert verdict.status == "not-run"
    assert verdict.message == f"b is {status}"


def test_predecessor_made_from_another_input_is_stale():
    stale = record(inputs=[artifact("t/claim.json", "b")])
    verdict = denial([CLAIM], {"candidate/build": stale})
    assert (verdict.status, verdict.reason) == ("not-run", Reason.PREDECESSOR_STALE)
    assert verdict.message == "candidate/build was made from another t/claim.json"


def test_inputs_of_others_do_not_make_a_predecessor_stale():
    other = record(inputs=[artifact("t/baseline/source.json", "b")])
    assert denial([CLAIM], {"baseline/build": other}) is None


@pytest.mark.parametrize(
    ("reason", "inherited"),
    [
        (Reason.NO_DEVICE, Reason.NO_DEVICE),
        (Reason.UNSUPPORTED_CONSTRUCT, Reason.UNSUPPORTED_CONSTRUCT),
        (Reason.CONTROL_NOT_CAUGHT, Reason.CONTROL_NOT_CAUGHT),
        (Reason.TIMEOUT, Reason.PREDECESSOR_FAILED),
    ],
)
def test_lack_of_means_stays_what_it_is_down_the_line(reason, inherited):
    lacking = Verdict(status="not-run", reason=reason, message="why")
    assert denial([], {"a": record(lacking)}).reason == inherited


def test_gate_of_every_record_name_is_known():
    gates = {gate_of(name) for name in record_names("cuda", 3)}
    assert gates == set(
        schemas()["fivegates:gate_record/v1"]["properties"]["gate"]["enum"]
    )


def test_schema_lists_every_reason_and_no_other():
    record_schema = schemas()["fivegates:gate_record/v1"]
    reasons = record_schema["properties"]["verdict"]["properties"]["reason"]["enum"]
    assert sorted(reasons) == sorted(Reason)


def test_record_survives_its_document():
    before = record(inputs=[CLAIM])
    document = before.to_dict()
    assert set(document) == {
        "schema",
        "gate",
        "claim",
        "subject",
        "verdict",
        "inputs",
        "artifacts",
        "run",
        "result",
    }
    assert Record.from_dict(document) == before
    assert dataclasses.is_dataclass(before)
