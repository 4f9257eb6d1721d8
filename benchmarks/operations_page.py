"""Fill the tables of docs/operations.md: contracts, committed matrix and receipts.

python benchmarks/operations_page.py
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from fivegates import operations  # noqa: E402

PAGE = ROOT / "docs/operations.md"
MATRIX = ROOT / "benchmarks/results/mutants.json"
RECEIPTS = ROOT / "tests/data/receipts/v2"
END = "<!-- end -->"


def catalogue() -> list[tuple[str, ...]]:
    """A row an operation."""
    header = ("operation", "dtypes", "claims", "mutants", "refused by")
    refused: dict[str, Counter[str]] = {}
    for row in json.loads(MATRIX.read_text()):
        refused.setdefault(row["operation"], Counter())[row["refused_by"]] += 1
    return [header] + [
        (
            f"[{name}](../kernels/{name}/README.md)",
            ", ".join(operations.load(ROOT, name).dtypes),
            ", ".join(claims(name)),
            str(found.total()),
            ", ".join(f"{gate} {count}" for gate, count in found.most_common()),
        )
        for name, found in sorted(refused.items())
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
    paths = sorted(RECEIPTS.glob("*/*/receipt.json"))
    return [header] + [row_of(json.loads(path.read_text())) for path in paths]


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
    for name, rows in (("operations", catalogue()), ("measured", measured())):
        begin = f"<!-- table: {name} -->\n"
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(END)
        lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        page = head + begin + table + END + tail
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
