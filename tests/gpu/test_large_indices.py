"""A gather past 2^31 elements: 32-bit offsets are right until they are not.

Corpus A04: a table of 262144 x 8960 elements of two bytes, 4.7 GB. Row 239673 is the
last whose offsets fit into int32.
"""

import os

import numpy as np
import pytest

from fivegates.arm import Argument, Launch
from fivegates.exercise import exercise, write_job
from fivegates.job import CaseJob, Job, input_file, output_file

pytestmark = pytest.mark.gpu
ROWS, COLS = 262144, 8960
BUFFERS = ("table", "index", "y")
INDICES = {
    "small": np.arange(4096, dtype=np.int32),
    "last that fits": np.array([239673], np.int32),
    "first that does not": np.array([239674], np.int32),
    "last": np.array([262143], np.int32),
}
SOURCE = """
extern "C" __global__ void own(const unsigned short* table, const int* index,
                               unsigned short* y, size_t items, size_t cols) {
    const size_t element = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (element >= items * cols) {
        return;
    }
    const OFFSET row = index[element / cols];
    y[element] = table[row * OFFSET(cols) + OFFSET(element % cols)];
}
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The table and its file, or a skip that says what is missing."""
    from cupy.cuda import runtime

    needed = 2 * ROWS * COLS
    free, _ = runtime.memGetInfo()
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if free < 1.2 * needed or host < 4 * needed:
        pytest.skip(f"needs {1.2 * needed:.2g} bytes of device memory, {free:.2g} free")
    rows = (np.arange(ROWS, dtype=np.uint32) * 40503).astype(np.uint16)
    values = rows[:, np.newaxis] + np.arange(COLS, dtype=np.uint16)
    path = tmp_path_factory.mktemp("table") / "table.bin"
    values.tofile(path)
    return values, path


@pytest.fixture
def launched(table, tmp_path):
    """Each set of indices through a kernel: its outputs, or the device's error."""

    def launch(offset):
        from fivegates.device import identify
        from fivegates.launch import compile_source

        built = compile_source(
            SOURCE.replace("OFFSET", offset),
            name="own.cu",
            entry="own",
            options=(),
            architecture=identify().architecture,
        )
        cases = tuple(
            case_of(number, index) for number, index in enumerate(INDICES.values())
        )
        trial = Job(binary="kernel", entry=built.symbol, cases=cases)
        (tmp_path / "kernel").write_bytes(built.cubin)
        for case, index in zip(cases, INDICES.values(), strict=True):
            (tmp_path / input_file(case.index, "table")).symlink_to(table[1])
            index.tofile(tmp_path / input_file(case.index, "index"))
        write_job(tmp_path, trial)
        return [
            report.error
            or np.fromfile(tmp_path / output_file(report.index, "y", 0), np.uint16)
            for report in exercise("cuda", tmp_path, trial, 300).cases
        ]

    return launch


def case_of(number, index):
    elements = index.size * COLS
    arguments = [Argument(kind="buffer", name=n, value=None) for n in BUFFERS]
    arguments += [Argument(kind="scalar", name="uint64", value=index.size)]
    arguments += [Argument(kind="scalar", name="uint64", value=COLS)]
    return CaseJob(
        index=number,
        launches=1,
        poison=True,
        launch=Launch(
            grid=(-(-elements // 256), 1, 1),
            block=(256, 1, 1),
            dynamic_shared_bytes=0,
            arguments=tuple(arguments),
        ),
        inputs={"table": 2 * ROWS * COLS, "index": index.nbytes},
        outputs={"y": 2 * elements},
    )


def right(values, found):
    return [
        not isinstance(y, str) and np.array_equal(y, values[index].ravel())
        for y, index in zip(found, INDICES.values(), strict=True)
    ]


def test_offsets_of_64_bits_reach_every_row(launched, table):
    assert right(table[0], launched("size_t")) == [True, True, True, True]


def test_offsets_of_32_bits_end_in_an_error_or_wrong_values(launched, table):
    """The rows that everyone tries are right, and the next case has a new process."""
    assert right(table[0], launched("int")) == [True, True, False, False]
