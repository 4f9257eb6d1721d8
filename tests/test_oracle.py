import io
import json
from dataclasses import replace

import numpy as np
import pytest

import mutation
from fivegates import oracle
from fivegates.claim import cases
from fivegates.errors import ArtifactError

OF = oracle.subject(b"claim", b"contract", b"harness")


@pytest.fixture(scope="module")
def claim():
    return mutation.frozen("row-sum-half")


@pytest.fixture(scope="module")
def row_sum(claim):
    return mutation.contract(claim.operation, claim.workload.dtype)


@pytest.fixture(scope="module")
def written(claim, row_sum):
    return oracle.compute(claim, row_sum, OF)


def test_what_is_read_is_what_the_contract_gives(claim, row_sum, written):
    read = oracle.read(written, "oracle.npz", claim, row_sum, OF)
    assert read.accepted_impostors == ()
    for index, case in enumerate(cases(claim, row_sum)):
        (right,) = row_sum.expected(row_sum.inputs(case), case.sizes).values()
        (found,) = read.expected(index).values()
        assert np.array_equal(found.values, right.values, equal_nan=True)
        assert np.array_equal(found.magnitude, right.magnitude, equal_nan=True)
        assert replace(found, values=None, magnitude=None) == replace(
            right, values=None, magnitude=None
        )


def test_file_is_the_same_each_time(claim, row_sum, written):
    assert oracle.compute(claim, row_sum, OF) == written


def test_view_is_compared_where_it_lies():
    claim = mutation.frozen("transpose-views-tiled")
    operation = mutation.contract(claim.operation, claim.workload.dtype)
    data = oracle.compute(claim, operation, OF)
    read = oracle.read(data, "oracle.npz", claim, operation, OF)
    last = cases(claim, operation)[-1]
    (found,) = read.expected(len(cases(claim, operation)) - 1).values()
    assert found.layout == operation.layout("y", last.sizes)


def test_weak_contract_is_told_with_its_claim(claim, row_sum):
    loose = replace(claim, tolerance=replace(claim.tolerance, rtol=0.5))
    data = oracle.compute(loose, row_sum, OF)
    read = oracle.read(data, "oracle.npz", claim, row_sum, OF)
    assert "less precise for y (ordinary)" in read.accepted_impostors


def test_oracle_of_another_claim_is_refused(claim, row_sum, written):
    other = oracle.subject(b"claim", b"contract", b"another harness")
    with pytest.raises(ArtifactError) as raised:
        oracle.read(written, "results/x/oracle.npz", claim, row_sum, other)
    assert str(raised.value) == (
        f"results/x/oracle.npz: of claim/contract/harness {OF}, expected {other}"
    )


def saved(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_file_without_a_case_is_one_error(claim, row_sum):
    about = json.dumps({"of": OF, "accepted_impostors": []})
    data = saved(about=np.array(about))
    read = oracle.read(data, "x.npz", claim, row_sum, OF)
    with pytest.raises(ArtifactError, match=r"^x.npz: .*, expected an oracle file$"):
        read.expected(0)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"PK",
        b"no archive",
        None,
        saved(other=np.zeros(1)),
        saved(about=np.array("[]")),
        saved(about=np.array("{}")),
    ],
)
def test_damaged_file_is_one_error(claim, row_sum, written, damage):
    data = written[: len(written) // 2] if damage is None else damage
    with pytest.raises(ArtifactError, match=r"^x.npz: .*, expected an oracle file$"):
        oracle.read(data, "x.npz", claim, row_sum, OF)
