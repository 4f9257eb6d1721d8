"""Tables as CSV text: line feeds, and a header that must be the declared one."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from fivegates.errors import ArtifactError


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The table as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def from_csv(text: str, columns: tuple[str, ...], name: str) -> list[dict[str, str]]:
    """Rows by column; ArtifactError unless the header is `columns`."""
    reader = csv.DictReader(io.StringIO(text))
    if tuple(reader.fieldnames or ()) != columns:
        raise ArtifactError(
            f"{name}: columns are {reader.fieldnames}, expected {columns}"
        )
    return list(reader)
