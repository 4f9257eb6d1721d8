"""What README and docs say is what the code and the committed evidence say."""

import json
import re

import pytest
import yaml

from conftest import ROOT
from fivegates.record import Reason
from fivegates.schema import schemas
from fivegates.store import sha256
from trees import RECEIPTS, V2_SUPPORTED

README = (ROOT / "README.md").read_text()


def blocks(text):
    return re.findall(r"```\w*\n(.*?)```", text, re.S)


def test_readme_shows_the_block_of_the_committed_receipt():
    data = (RECEIPTS / V2_SUPPORTED / "receipt.json").read_bytes()
    shown = [*json.loads(data)["summary"], f"receipt    sha256:{sha256(data)}"]
    lines = blocks(README)[0].splitlines()
    assert lines[:-1] == shown[:-1]
    assert lines[-1].startswith(shown[-1][:30])


def test_readme_says_on_its_first_screen_what_a_receipt_proves():
    first = "\n".join(README.splitlines()[:48])
    assert "**A receipt proves**" in first
    assert "**It does not prove**" in first


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_code_is_explained_once(reason):
    rows = re.findall(
        rf"^\| `{reason}` \|.*\|$", (ROOT / "docs/gates.md").read_text(), re.M
    )
    assert len(rows) == 1


def test_every_receipt_field_is_explained():
    text = (ROOT / "docs/receipt.md").read_text()
    for field in schemas()["fivegates:receipt/v2"]["properties"]:
        assert f"`{field}`" in text or field in ("schema", "created_at", "backend"), (
            field
        )


def test_claim_in_the_docs_is_the_claim_in_the_configuration():
    shown, _ = blocks((ROOT / "docs/claims.md").read_text())
    claim = (ROOT / "config/claims/triad-vec4.yaml").read_text()
    assert yaml.safe_load(shown) == yaml.safe_load(claim)


def test_workloads_in_the_docs_are_some_of_a_claim():
    _, shown = blocks((ROOT / "docs/claims.md").read_text())
    claim = yaml.safe_load((ROOT / "config/claims/row-sum-shapes.yaml").read_text())
    for name, workload in yaml.safe_load(shown)["workloads"].items():
        assert claim["workloads"][name] == workload


def test_every_claim_field_is_explained():
    text = (ROOT / "docs/claims.md").read_text()
    schema = schemas()["fivegates:claim/v1"]
    for field in schema["properties"]["workload"]["properties"]:
        assert f"`workload.{field}`" in text
    for field in schema["$defs"]["arm"]["properties"]:
        assert f"`{field}`" in text


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_every_link_leads_to_a_file(page):
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("http") or (path.parent / target).exists(), target


def test_targets_and_commands_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target
    assert "make test" in (ROOT / ".ci/run").read_text()
