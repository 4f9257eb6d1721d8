import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivegates.errors import ArtifactError
from fivegates.store import (
    Store,
    canonical,
    parse,
    read_json,
    require_digest,
    sha256,
    write_atomically,
)

documents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(documents)
def test_canonical_json_is_one_spelling(document):
    data = canonical(document)
    assert parse(data, "x") == document
    assert canonical(parse(data, "x")) == data
    assert data.endswith(b"\n")
    assert b"\r" not in data


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nonfinite_number_is_never_written(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": NaN}', "r.json: found NaN, expected a finite number"),
        ('{"a": -Infinity}', "r.json: found -Infinity, expected a finite number"),
        ('{"a": 1e400}', "r.json: found 1e400, expected a finite number"),
        ('{"a": 1, "a": 2}', "r.json: key 'a' appears twice, expected once"),
        (
            '{"a": [1, 2',
            "r.json: not JSON: Expecting ',' delimiter: line 1 column 12 (char 11)",
        ),
        ("", "r.json: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (
            '{"a": "\\ud800"}',
            "r.json: not JSON: 'utf-8' codec can't encode character '\\ud800' in "
            "position 10: surrogates not allowed",
        ),
        (
            '{"a": ' + "9" * 5000 + "}",
            "r.json: not JSON: Exceeds the limit (4300 digits) for integer string "
            "conversion: value has 5000 digits; use sys.set_int_max_str_digits() to "
            "increase the limit",
        ),
    ],
)
def test_reader_refuses_what_no_writer_may_write(text, message):
    """corpus G02"""
    with pytest.raises(ArtifactError) as error:
        parse(text.encode(), "r.json")
    assert str(error.value) == message


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(ArtifactError, match=r"^r.json: not JSON: 'utf-8' codec"):
        parse(b'{"a": "\xff"}', "r.json")


def test_store_gives_back_what_was_kept(tmp_path):
    store = Store(tmp_path)
    artifact = store.publish(tmp_path / "claim" / "log.txt", b"text")
    assert artifact.name == "claim/log.txt"
    assert artifact.media_type == "text/plain"
    assert store.load(artifact) == (tmp_path / "claim" / "log.txt").read_bytes()
    kept = store.path(artifact.sha256)
    assert kept.parent.name + kept.name == sha256(b"text")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o444


def test_every_read_rehashes(tmp_path):
    store = Store(tmp_path)
    artifact = store.pin("a.txt", b"text")
    path = store.path(artifact.sha256)
    path.chmod(0o644)
    path.write_bytes(b"test")
    with pytest.raises(ArtifactError) as error:
        store.load(artifact)
    assert str(error.value) == (
        f"{path}: sha256 {sha256(b'test')}, expected {artifact.sha256}; the file "
        "changed after it was recorded"
    )


def test_damaged_copy_is_replaced_by_the_next_keep(tmp_path):
    store = Store(tmp_path)
    artifact = store.pin("a.txt", b"text")
    path = store.path(artifact.sha256)
    path.chmod(0o644)
    path.write_bytes(b"")
    store.keep(b"text")
    assert store.load(artifact) == b"text"


def test_line_endings_that_were_converted_are_named():
    """corpus G01"""
    with pytest.raises(ArtifactError) as error:
        require_digest("log.txt", b"a\r\nb\r\n", sha256(b"a\nb\n"))
    assert str(error.value).endswith(
        "(equal after CRLF -> LF: line endings were converted)"
    )


def test_write_is_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, b"old")
    monkeypatch.setattr("os.fdopen", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["record.json"]


def test_missing_file_is_one_error(tmp_path):
    with pytest.raises(ArtifactError) as error:
        read_json(tmp_path / "none.json")
    assert str(error.value) == (
        f"{tmp_path / 'none.json'}: No such file or directory, expected a readable file"
    )


def test_canonical_is_what_json_reads():
    assert json.loads(canonical({"ä": [1, 2.5]})) == {"ä": [1, 2.5]}
