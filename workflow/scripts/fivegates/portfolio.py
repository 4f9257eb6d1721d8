"""A claim about several workloads: each is judged by itself, and none is averaged.

What could not be supported anywhere stays in the table and decides the whole.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fivegates.errors import ArtifactError, ClaimError

PORTFOLIO_SCHEMA = "fivegates:portfolio/v1"
# Between the name of a claim and that of one of its workloads.
PART = "--"
WORKLOAD_NAME = re.compile(r"[a-z0-9]+")
# The first of these that a workload has is the verdict of the portfolio.
WORST_FIRST = ("refused", "not-supported", "inconclusive", "supported")
STANDINGS = ("preflight", "provisional", "confirmed")
SHARED = ("claim", "margin", "backend", "harness", "portfolio")
SOURCES = ("source", "baseline_source")
# What was compiled; which of its binaries ran depends on how far a workload came.
COMPILED = ("file", "file_sha256", "entry", "compiler", "flags", "commit", "dirty")


def singled_out(document: Any, name: str) -> Mapping[str, Any]:
    """A claim with one workload, by the names of those it lists; "" where it has one.

    ClaimError where `workloads` is not a mapping of names beside no `workload`.
    """
    if not isinstance(document, Mapping) or "workloads" not in document:
        return {"": document}
    workloads = document["workloads"]
    if "workload" in document:
        raise ClaimError(f"{name}: has workload and workloads, expected one of them")
    if not isinstance(workloads, Mapping) or len(workloads) < 2:
        raise ClaimError(f"{name}: workloads: expected a mapping of at least two names")
    for key in workloads:
        if not (isinstance(key, str) and WORKLOAD_NAME.fullmatch(key)):
            raise ClaimError(
                f"{name}: workloads: {key!r} is no name of a workload, expected lower "
                "case letters and digits"
            )
    shared = {key: value for key, value in document.items() if key != "workloads"}
    return {key: {**shared, "workload": value} for key, value in workloads.items()}


def build(receipts: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """The portfolio of these receipts, by the digest and the document of each.

    ArtifactError unless they are all the workloads of one claim, judged alike.
    """
    documents = [document for _, document in receipts.values()]
    first = documents[0]
    name = str(first["name"]).partition(PART)[0]
    _require_one_claim(name, documents)
    rows = [
        {
            "name": document["name"],
            "sha256": digest,
            "status": document["status"],
            "verdict": document["verdict"],
            "sizes": document["workload"]["sizes"],
            "speedup": document.get("result", {}).get("speedup"),
        }
        for digest, document in sorted(
            receipts.values(), key=lambda pair: str(pair[1]["name"])
        )
    ]
    verdict = _verdict(rows)
    portfolio = {
        "schema": PORTFOLIO_SCHEMA,
        "name": name,
        "claim": first["claim"],
        "margin": first["margin"],
        "backend": first["backend"],
        "status": min((row["status"] for row in rows), key=STANDINGS.index),
        "verdict": verdict,
        "workloads": rows,
    }
    return {**portfolio, "summary": _summary(portfolio)}


def _require_one_claim(name: str, documents: Sequence[Mapping[str, Any]]) -> None:
    names = sorted(str(document["name"]) for document in documents)
    for document in documents:
        listed = document.get("portfolio", {}).get("workloads", ())
        expected = [f"{name}{PART}{key}" for key in listed]
        if names != expected:
            raise ArtifactError(
                f"{document['name']}: is one of {', '.join(expected) or 'no portfolio'}"
                f", expected one of {', '.join(names)}"
            )
        one, other = _shared(document), _shared(documents[0])
        for field in [field for field in one if one[field] != other[field]]:
            raise ArtifactError(
                f"{document['name']}: {field} differs from that of "
                f"{documents[0]['name']}, expected the same. Judge them together"
            )


def _shared(document: Mapping[str, Any]) -> dict[str, Any]:
    """What all workloads of a claim have in common."""
    found = {field: document[field] for field in SHARED}
    found["hardware.gpu_uuid"] = document.get("hardware", {}).get("gpu_uuid")
    for source in SOURCES:
        found |= {f"{source}.{f}": document[source][f] for f in COMPILED}
    return found


def _verdict(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    worst = min(rows, key=lambda row: WORST_FIRST.index(row["verdict"]["status"]))
    supported = sum(row["verdict"]["status"] == "supported" for row in rows)
    said = worst["verdict"]
    message = f"{supported} of {len(rows)} workloads supported"
    if said["status"] != "supported":
        message += f"; {worst['name'].partition(PART)[2]}: {said['message']}"
    return {"status": said["status"], "reason": said["reason"], "message": message}


def _summary(portfolio: Mapping[str, Any]) -> list[str]:
    """The block that people read, a line a workload."""
    verdict, refused = portfolio["verdict"], portfolio["verdict"]["status"] == "refused"
    standing = "" if refused else f"{portfolio['status']}; "
    return [
        f"{'claim':<10} {portfolio['name']}  {portfolio['claim']}",
        *map(_line, portfolio["workloads"]),
        f"{'verdict':<10} {verdict['status']:<12} {standing}{verdict['message']}",
    ]


def _line(row: Mapping[str, Any]) -> str:
    verdict, speedup = row["verdict"], row["speedup"]
    sizes = ", ".join(f"{size}={value}" for size, value in row["sizes"].items())
    said = verdict["message"]
    if speedup is not None and verdict["status"] != "refused":
        said += (
            f"; speedup {speedup['estimate']:.4g} "
            f"[{speedup['lower']:.4g}, {speedup['upper']:.4g}]"
        )
    return (
        f"{row['name'].partition(PART)[2]:<10} {verdict['status']:<12} {sizes}: {said}"
    )
