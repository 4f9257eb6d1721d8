"""Fill the tables of docs/operations.md: contracts, committed matrix and receipts.

python benchmarks/operations_page.py
"""

import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from fivegates import operations  # noqa: E402

PAGE = ROOT / "docs/operations.md"
MATRIX = ROOT / "benchmarks/results/mutants.json"
ON_DEVICE = ROOT / "benchmarks/results/mutants_on_device"
RECEIPTS = ROOT / "tests/data/receipts/v2"
ARCHIVES = ROOT / "tests/data/archives"
PASSED = "-"
END = "<!-- end -->"


def catalogue() -> list[tuple[str, ...]]:
    """A row an operation."""
    header = ("operation", "dtypes", "claims", "mutants")
    by = ("refused on the host by", "on an H200 by")
    refused: dict[str, Counter[str]] = {}
    for row in json.loads(MATRIX.read_text()):
        refused.setdefault(row["operation"], Counter())[row["refused_by"]] += 1
    return [(*header, *by)] + [
        (
            f"[{name}](../kernels/{name}/README.md)",
            ", ".join(operations.load(ROOT, name).dtypes),
            ", ".join(claims(name)),
            str(found.total()),
            counted(found),
            counted(Counter(row["refused_by"] for row in on_device(name))),
        )
        for name, found in sorted(refused.items())
    ]


def counted(found: Counter[str]) -> str:
    """How many mutants each gate refused, and how many none did."""
    gates = [(gate, count) for gate, count in found.most_common() if gate != PASSED]
    if found[PASSED]:
        gates.append(("nothing", found[PASSED]))
    return ", ".join(f"{gate} {count}" for gate, count in gates)


def on_device(operation: str) -> list[dict[str, Any]]:
    """What a device said of an operation's mutants."""
    text = (ON_DEVICE / f"{operation}.json").read_text()
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def let_through() -> list[tuple[str, ...]]:
    """A row a mutant that the gates of a device passed."""
    header = ("operation", "mutant", "refused on the host by")
    names = sorted(path.stem for path in ON_DEVICE.glob("*.json"))
    return [header] + [
        (row["operation"], row["mutant"], row["on_host"])
        for name in names
        for row in on_device(name)
        if row["refused_by"] == PASSED
    ]


def claims(operation: str) -> list[str]:
    """Claims about an operation."""
    return [
        path.stem
        for path in sorted((ROOT / "config/claims").glob("*.yaml"))
        if yaml.safe_load(path.read_text())["operation"] == operation
    ]


def measured() -> list[tuple[str, ...]]:
    """A row a committed receipt, and a workload of a portfolio."""
    header = ("claim", "device", "timed", "baseline", "candidate", "speedup", "verdict")
    return [header, *sorted(map(row_of, receipts()))]


def receipts() -> Iterator[dict[str, Any]]:
    """Receipts of claims in committed trees, unpacked and archived."""
    for path in RECEIPTS.glob("*/*/receipt.json"):
        yield json.loads(path.read_text())
    for path in ARCHIVES.iterdir():
        with tarfile.open(path) as archive:
            found = archive.extractfile("results/receipt.json")
            assert found is not None
            yield json.load(found)


def row_of(receipt: dict[str, Any]) -> tuple[str, ...]:
    """What a receipt says, without numbers where its claim was refused."""
    result, verdict = receipt.get("result"), receipt["verdict"]
    workload = receipt["workload"]
    times, said = ("", "", ""), f"{verdict['status']} ({verdict['reason']})"
    if result is not None:
        speedup = result["speedup"]
        times = (
            f"{result['baseline_median_us']:.3f} us",
            f"{result['candidate_median_us']:.3f} us",
            f"{speedup['estimate']:.4g} [{speedup['lower']:.4g}, "
            f"{speedup['upper']:.4g}]",
        )
    kind = f"{workload['boundary']}/{workload['cache_regime']}"
    return receipt["name"], receipt["hardware"]["gpu_name"], kind, *times, said


def rendered(page: str) -> str:
    """The page with its tables made anew."""
    tables = {
        "operations": catalogue(),
        "let through": let_through(),
        "measured": measured(),
    }
    for name, rows in tables.items():
        begin = f"<!-- table: {name} -->\n"
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(END)
        lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        page = head + begin + table + END + tail
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
