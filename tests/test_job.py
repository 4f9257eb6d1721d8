import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.arm import SCALAR_TYPES, Argument, Launch
from fivegates.job import (
    CaseJob,
    CaseReport,
    Job,
    from_text,
    parse_report,
    report_line,
    to_text,
)

names = st.sampled_from(["x", "z", "y", "weights"])
extents = st.tuples(*[st.integers(0, 2**31 - 1)] * 3)
buffers = st.dictionaries(names, st.integers(0, 2**40))


def scalars():
    def value(kind):
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        integers = st.integers(-(2**63), 2**64 - 1)
        return st.builds(
            lambda number: Argument(kind="scalar", name=kind, value=number),
            numbers if kind.startswith("float") else integers,
        )

    return st.sampled_from(SCALAR_TYPES).flatmap(value)


arguments = st.one_of(
    st.builds(lambda name: Argument(kind="buffer", name=name, value=None), names),
    scalars(),
)
jobs = st.builds(
    Job,
    binary=st.just("kernel"),
    entry=st.sampled_from(["triad", "_Z5scaleILi4EEvPf", "scale<64, float>"]),
    cases=st.lists(
        st.builds(
            CaseJob,
            index=st.integers(0, 99),
            launches=st.integers(1, 99),
            poison=st.booleans(),
            launch=st.builds(
                Launch,
                grid=extents,
                block=extents,
                dynamic_shared_bytes=st.integers(0, 2**20),
                arguments=st.lists(arguments).map(tuple),
            ),
            inputs=buffers,
            outputs=buffers,
        ),
        max_size=3,
    ).map(tuple),
)


@given(jobs)
def test_job_survives_its_file(job):
    assert from_text(to_text(job)) == job


def test_report_of_a_finished_process_is_complete():
    first = CaseReport(
        index=0, variants=(0, 0, 1), changed_inputs=("x",), error=None, limit=None
    )
    text = report_line(first) + '\n{"done": true, "sanitizer_reports": 3}\n'
    report = parse_report(text)
    assert report.cases == (first,)
    assert report.done
    assert report.sanitizer_reports == 3


@pytest.mark.parametrize("cut", range(1, 80, 7))
def test_line_that_was_cut_off_is_no_answer(cut):
    line = report_line(
        CaseReport(
            index=0, variants=(0,) * 10, changed_inputs=(), error=None, limit=None
        )
    )
    report = parse_report(line[:cut])
    assert report.cases == ()
    assert not report.done
