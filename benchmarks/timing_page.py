"""Write the tables of docs/timing.md from the files in benchmarks/results/.

python benchmarks/timing_page.py
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "timing.md"
ROLES = ("baseline", "candidate")
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.S)


def results(name: str) -> Any:
    return json.loads((HERE / "results" / f"timing_{name}.json").read_text())


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def calibration() -> str:
    """Null experiments of the long run, planted ones of the run beside the receipt."""
    rows = []
    planted_kinds = [k for k in results("planted")["derived"] if k["planted"]]
    for found in (*results("null")["derived"], *planted_kinds):
        told = found["right_side"] if found["planted"] else found["excluding_one"]
        rows.append(
            [
                found["name"],
                f"{found['rounds']}",
                f"{found['seconds_median']:.2f}",
                f"{told}/{found['experiments']}",
                f"{found['faster_or_slower']}",
                f"{found['ratio']:.5f}",
                f"{100 * found['ratio_sd']:.3f}",
                f"{100 * found['predicted_sd']:.3f}",
            ]
        )
    header = (
        "experiment",
        "rounds",
        "s each",
        "interval excludes 1, on the right side",
        "faster or slower by 1 %",
        "ratio",
        "sd seen, %",
        "sd predicted, %",
    )
    return table(header, rows)


def planted() -> str:
    by_name = {found["name"]: found for found in results("planted")["derived"]}
    return table(
        ("experiment", "longer, us", "shorter, us", "CUPTI's ratio", "ours"),
        [
            [
                name,
                f"{said['longer_us']:.4f}",
                f"{said['shorter_us']:.4f}",
                f"{said['ratio']:.5f}",
                f"{by_name[name]['ratio']:.5f}",
            ]
            for name, said in results("agreement")["planted"].items()
        ],
    )


def agreement() -> str:
    document = results("agreement")
    found, cost = document["agreement"], document["cost"]
    ratios = found["ratios"]
    return table(
        ("triad-vec4 in fresh processes", ""),
        [
            ["processes", f"{len(ratios)}"],
            ["speedup, least and most", f"{min(ratios):.4f}, {max(ratios):.4f}"],
            ["standard deviation, %", f"{100 * found['ratio_sd']:.3f}"],
            ["predicted by the rounds, %", f"{100 * found['predicted_sd']:.3f}"],
            ["seconds of a session, most", f"{max(found['wall_s']):.1f}"],
            ["seconds of one more workload", f"{cost['second_s']:.2f}"],
        ],
    )


def boundary() -> str:
    rows = []
    for regime, found in results("agreement")["boundary"].items():
        for role in (*ROLES, "bare"):
            rows.append(
                [
                    regime,
                    role,
                    f"{found['graph_us'][role]:.3f}",
                    f"{found['single_us'][role]:.3f}" if role != "bare" else "",
                    f"{found['replayed_cupti_us'][role]:.3f}",
                    f"{found['launched_cupti_us'][role]:.3f}",
                ]
            )
        rows.append(
            [
                regime,
                "speedup",
                f"{found['speedup']:.4f}",
                "",
                f"{found['replayed_cupti_speedup']:.4f}",
                f"{found['launched_cupti_speedup']:.4f}",
            ]
        )
    header = ("regime", "", "graph", "single", "CUPTI, replayed", "CUPTI, launched")
    return table(header, rows)


def peers() -> str:
    return table(
        ("method", "scalar, us", "vec4, us", "ratio", "least", "most", "sd, %"),
        [
            [
                name,
                f"{said['baseline_us']:.2f}",
                f"{said['candidate_us']:.2f}",
                f"{said['ratio_median']:.4f}",
                f"{said['ratio_min']:.4f}",
                f"{said['ratio_max']:.4f}",
                f"{100 * said['log_ratio_sd']:.3f}",
            ]
            for name, said in sorted(
                results("peers")["methods"].items(),
                key=lambda item: item[1]["log_ratio_sd"],
            )
        ],
    )


def coverage() -> str:
    """Percent, by unit and law; laws in the order of the file."""
    cells = results("coverage")["coverage"]
    numbers = sorted({cell["number"] for cell in cells})
    rows = [
        [
            *place,
            *(
                f"{100 * cell['share']:.1f}"
                for number in numbers
                for cell in cells
                if (cell["unit"], cell["law"], cell["number"]) == (*place, number)
            ),
        ]
        for place in dict.fromkeys((cell["unit"], cell["law"]) for cell in cells)
    ]
    return table(("unit", "law", *map(str, numbers)), rows)


TABLES = {
    "coverage": coverage,
    "calibration": calibration,
    "planted": planted,
    "agreement": agreement,
    "boundary": boundary,
    "peers": peers,
}


def rendered(page: str) -> str:
    """The page with every table written anew."""
    return TABLE.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], page)


def main() -> int:
    PAGE.write_text(rendered(PAGE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
