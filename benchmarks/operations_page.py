"""Fill the tables of docs/operations.md: contracts, what refused mutants, receipts.

python benchmarks/operations_page.py
"""

import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "workflow/scripts"), str(ROOT / "tests")]

from fivegates import operations  # noqa: E402
from fivegates.store import sha256  # noqa: E402
from mutation import SURVIVED  # noqa: E402

PAGE = ROOT / "docs/operations.md"
MATRIX = ROOT / "benchmarks/results/mutants.json"
ON_DEVICE = ROOT / "benchmarks/results/mutants_on_device"
RECEIPTS = ROOT / "tests/data/receipts/v2"
ARCHIVES = ROOT / "tests/data/archives"
END = "<!-- end -->"
UNTRIED = "not tried"


def matrix() -> list[dict[str, Any]]:
    """A row a mutant: what refused it on the host and, where it was tried, a device."""
    tried = {
        judged(row): row["refused_by"]
        for path in ON_DEVICE.glob("*.json")
        for row in json.loads(path.read_text())["rows"]
    }
    rows: list[dict[str, Any]] = json.loads(MATRIX.read_text())
    return [{**row, "on_device": tried.get(judged(row), UNTRIED)} for row in rows]


def judged(row: dict[str, Any]) -> tuple[Any, ...]:
    """What was run: a fault may have got another name since, and no other source."""
    return row["claim"], row["role"], tuple(row["block"]), row["source_sha256"]


def catalogue() -> list[tuple[str, ...]]:
    """A row an operation."""
    header = ("operation", "dtypes", "claims", "mutants", "on the host", "on a device")
    rows = matrix()
    return [header] + [
        (
            f"[{name}](../kernels/{name}/README.md)",
            ", ".join(operations.load(ROOT, name).dtypes),
            ", ".join(claims(name)),
            str(sum(row["operation"] == name for row in rows)),
            counted(row["refused_by"] for row in rows if row["operation"] == name),
            counted(row["on_device"] for row in rows if row["operation"] == name),
        )
        for name in sorted({row["operation"] for row in rows})
    ]


def counted(gates: Iterator[str]) -> str:
    """How many mutants each gate refused, and how many none did."""
    found = Counter("nothing" if gate == SURVIVED else gate for gate in gates)
    return ", ".join(f"{gate} {count}" for gate, count in found.most_common())


def let_through() -> list[tuple[str, ...]]:
    """A row a mutant that the gates of a device passed."""
    return [("operation", "mutant", "refused on the host by")] + [
        (row["operation"], row["mutant"], row["refused_by"])
        for row in matrix()
        if row["on_device"] == SURVIVED
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
    times = ("baseline", "candidate", "speedup", "verdict", "sources")
    header = ("claim", "device", "timed", *times)
    return [header, *sorted(map(row_of, receipts()))]


def receipts() -> Iterator[dict[str, Any]]:
    """Receipts of claims in committed trees, unpacked and archived."""
    for path in RECEIPTS.glob("*/*/receipt.json"):
        yield json.loads(path.read_text())
    for path in ARCHIVES.iterdir():
        with tarfile.open(path) as archive:
            for member in archive:
                if fnmatch(member.name, "results/*/receipt.json"):
                    found = archive.extractfile(member)
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
    device = receipt["hardware"]["gpu_name"]
    return receipt["name"], device, kind, *times, said, sources(receipt)


def sources(receipt: dict[str, Any]) -> str:
    """Which of its contract and arms were others than those that are here now."""
    changed = [
        Path(artifact["name"]).name
        for artifact in receipt["evidence"]
        if is_judged(artifact["name"])
        and not is_here(artifact["name"], artifact["sha256"])
    ]
    return f"older {', '.join(changed)}" if changed else "these"


def is_judged(name: str) -> bool:
    """Whether an artifact is a contract or an arm, and not of the harness."""
    is_source = name.endswith((".py", ".cu"))
    return is_source and not name.startswith(("workflow/", "kernels/controls/"))


def is_here(name: str, digest: str) -> bool:
    """Whether a file of the repository has this digest."""
    path = ROOT / name
    return path.is_file() and sha256(path.read_bytes()) == digest


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
