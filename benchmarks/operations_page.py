"""Fill the table of docs/operations.md from the contracts and the committed matrix.

python benchmarks/operations_page.py
"""

import json
import sys
from collections import Counter
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from fivegates import operations  # noqa: E402

PAGE = ROOT / "docs/operations.md"
MATRIX = ROOT / "benchmarks/results/mutants.json"
BEGIN, END = "<!-- table: operations -->\n", "<!-- end -->"
HEADER = ("operation", "dtypes", "claims", "mutants", "refused by")


def rows() -> list[tuple[str, ...]]:
    """A row an operation."""
    refused: dict[str, Counter[str]] = {}
    for row in json.loads(MATRIX.read_text()):
        refused.setdefault(row["operation"], Counter())[row["refused_by"]] += 1
    return [
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


def rendered(page: str) -> str:
    """The page with its table made anew."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    lines = [HEADER, tuple("---" for _ in HEADER), *rows()]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return head + BEGIN + table + END + tail


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text()))
