"""The host's access census beside the counters of a GPU, kernel by kernel.

Reads tests/data/calibration/ncu-*.csv, runs the same launches on the host, and writes
census.json there: both numbers of each kind of access, and the difference.

    python benchmarks/compare_census.py
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from census_kernels import COUNTED, COUNTERS, label  # noqa: E402

from host_runs import census, compilers  # noqa: E402
from planted import Planted  # noqa: E402

DATA = ROOT / "tests/data/calibration"


def counted_on_device(kernel: Planted) -> dict[str, tuple[int, int]]:
    """Requests and sectors, or passes over the banks, by kind of access."""
    with (DATA / f"ncu-{label(kernel)}.csv").open() as file:
        names, _, row = list(csv.reader(file))[:3]
    values = dict(zip(names, row, strict=True))

    def number(name: str) -> int:
        return int(values[name].replace(",", ""))

    return {
        access: (number(requests), number(units))
        for access, (requests, units) in COUNTERS.items()
        if number(requests)
    }


def counted_on_host(kernel: Planted) -> dict[str, tuple[int, int]]:
    """The same, summed over the lines of the source."""
    totals: dict[str, tuple[int, int]] = {}
    for row in census(compilers()["gcc"], kernel):
        requests, units = totals.get(row["access"], (0, 0))
        unit = row["sectors"] if "sectors" in row else row["bank_passes"]
        totals[row["access"]] = (requests + row["requests"], units + unit)
    return totals


def compare(kernel: Planted) -> list[dict[str, Any]]:
    """A row for each kind of access that either side saw."""
    device, host = counted_on_device(kernel), counted_on_host(kernel)
    rows = []
    for access in COUNTERS:
        if access not in device and access not in host:
            continue
        seen, here = device.get(access, (0, 0)), host.get(access, (0, 0))
        rows.append(
            {
                "kernel": label(kernel),
                "access": access,
                "host_requests": here[0],
                "device_requests": seen[0],
                "host_units": here[1],
                "device_units": seen[1],
                "units_ratio": here[1] / seen[1] if seen[1] else None,
            }
        )
    return rows


def main() -> int:
    rows = [row for kernel in COUNTED for row in compare(kernel)]
    text = json.dumps({"rows": rows}, indent=1, sort_keys=True) + "\n"
    (DATA / "census.json").write_text(text)
    for row in rows:
        print(
            f"{row['kernel']:24} {row['access']:13} requests: host "
            f"{row['host_requests']:>7} device {row['device_requests']:>7}, units: "
            f"host {row['host_units']:>8} device {row['device_units']:>8}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
