"""JSON Schemas: where they lie, and how a violation reads.

Each property's `description` in a schema says what is expected there, so that one error
line can state field, found and expected.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource

from fivegates.errors import EvidenceError

HERE = Path(__file__).parent
LONGEST_VALUE = 80


def folder() -> Path:
    """The schemas beside an installed package, else those of the checkout."""
    installed = HERE / "schemas"
    return installed if installed.is_dir() else HERE.parents[1] / "schemas"


@cache
def schemas() -> Mapping[str, Mapping[str, Any]]:
    """Every schema by its `$id`."""
    documents = [
        json.loads(path.read_text()) for path in folder().glob("*.schema.json")
    ]
    return {document["$id"]: document for document in documents}


def _is_integer(_: Any, value: object) -> bool:
    """JSON Schema takes 3.0 for an integer; a count is one as written, or it is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: Any, value: object) -> bool:
    """YAML can write numbers that no canonical JSON holds."""
    return _is_integer(checker, value) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _version(kind: str, data: Any) -> str:
    """The `$id` that a document names if it is of this kind, else the newest."""
    known = sorted(key for key in schemas() if key.startswith(f"fivegates:{kind}/v"))
    named = data.get("schema") if isinstance(data, Mapping) else None
    return named if named in known else known[-1]


@cache
def _validator(identity: str) -> Draft202012Validator:
    resources = [(key, Resource.from_contents(doc)) for key, doc in schemas().items()]
    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    )
    strict = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    validator: Draft202012Validator = strict(
        schemas()[identity], registry=Registry().with_resources(resources)
    )
    return validator


def check(data: Any, kind: str, name: str, error: type[EvidenceError]) -> None:
    """Raise one `error` that lists every violation of the schema in document `name`."""
    found = sorted(
        _validator(_version(kind, data)).iter_errors(data),
        key=lambda e: list(map(str, e.path)),
    )
    problems = list(dict.fromkeys(text for item in found for text in _problems(item)))
    if problems:
        raise error("\n".join(f"{name}: {problem}" for problem in problems))


def _problems(error: ValidationError) -> Iterator[str]:
    path, value = list(error.absolute_path), cast(Any, error.instance)
    schema: Mapping[str, Any] = error.schema  # type: ignore[assignment]
    properties = schema.get("properties", {})
    if error.validator == "required":
        for key in schema["required"]:
            if key not in value:
                expected = _expected(properties.get(key, {}))
                yield f"{_join([*path, key])} is missing, {expected}"
    elif error.validator == "additionalProperties":
        for key in sorted(set(value) - set(properties)):
            where, names = _join([*path, key]), ", ".join(sorted(properties))
            yield f"{where} is not a known field, expected one of: {names}"
    else:
        found = f"{_shortened(repr(value))} ({type(value).__name__})"
        yield f"{_join(path) or 'the document'} is {found}, {_expected(schema)}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _expected(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _expected(schemas().get(schema["$ref"], {}))
    if "description" in schema:
        return f"expected {schema['description']}"
    if "enum" in schema:
        return f"expected one of: {', '.join(map(str, schema['enum']))}"
    if "const" in schema:
        return f"expected {schema['const']!r}"
    return "expected what the schema allows"


def _join(path: Iterable[Any]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")
