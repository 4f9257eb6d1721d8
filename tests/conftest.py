"""Shared fixtures: the repository, its operation, and claims made from the real one."""

import copy
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fivegates import operations
from fivegates.claim import CLAIM_SCHEMA, Claim

ROOT = Path(__file__).parents[1]
TREE = ("Snakefile", "config", "kernels", "workflow", "tests/kernels")


def pytest_collection_modifyitems(items):
    """Tests of a file share a worker; those of the device take it in turn.

    A pipeline wants the device to itself, so it runs before a test of this process has
    made a context there.
    """
    reason = device_missing()
    for item in items:
        needs_device = item.get_closest_marker("gpu")
        item.add_marker(pytest.mark.xdist_group("gpu" if needs_device else item.fspath))
        if reason and needs_device:
            item.add_marker(pytest.mark.skip(reason=reason))
    items.sort(key=lambda item: "test_pipeline" not in item.nodeid)


def device_missing() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed (extras cuda12, cuda13)"
    from fivegates import device

    return None if device.present() else "no NVIDIA device answers"


@pytest.fixture
def root(monkeypatch):
    monkeypatch.chdir(ROOT)
    return ROOT


@pytest.fixture(scope="session")
def triad():
    return operations.load(ROOT, "triad")


@pytest.fixture(scope="session")
def _documents():
    return (
        yaml.safe_load((ROOT / "config/claims/triad-vec4.yaml").read_text()),
        yaml.safe_load((ROOT / "config/config.yaml").read_text())["policy"],
    )


@pytest.fixture
def document(_documents):
    """The YAML of triad-vec4 as data, free to be changed."""
    return copy.deepcopy(_documents[0])


@pytest.fixture
def policy(_documents):
    return copy.deepcopy(_documents[1])


@pytest.fixture
def freeze(policy):
    """Frozen claim from the data of a YAML."""

    def frozen(document, name="triad-vec4"):
        return Claim.from_dict(
            {"schema": CLAIM_SCHEMA, "name": name, "claim": document, "policy": policy}
        )

    return frozen


@pytest.fixture
def claim(freeze, document):
    return freeze(document)


@pytest.fixture
def good(claim):
    """A simulated session of a device without faults, what it says, and its verdict."""
    from simulated import Laws, Simulation, derived

    simulation = Simulation(claim, Laws())
    return simulation, *derived(simulation)


def copy_tree(target: Path) -> Path:
    """The workflow without its tests, in a folder of its own."""
    for name in TREE:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, target / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture
def tree(tmp_path):
    """A copy of the workflow, to run and to edit."""
    return copy_tree(tmp_path)


def snakemake(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a tree, without the second that it waits for at its end.

    Both of its streams come back as `stdout`.
    """
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    speed = ["--scheduler", "greedy", "--max-jobs-per-timespan", "1000/0s"]
    return subprocess.run(
        [*command, *speed, *arguments],
        cwd=tree,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
