"""Wildcards, paths and path lists. What a claim means is not decided here."""

import hashlib
import json
import re
import subprocess
import sys
import yaml
from functools import cache
from importlib.util import find_spec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from snakemake.exceptions import WorkflowError

CONFIG_SCHEMA = json.loads(Path("workflow/schemas/config.schema.json").read_text())


def require_valid_config():
    """One line for the worst of what is wrong with the configuration."""
    worst = best_match(Draft202012Validator(CONFIG_SCHEMA).iter_errors(config))
    if worst is not None:
        where = ".".join(map(str, worst.absolute_path)) or "the document"
        expected = worst.schema.get("description", worst.message)
        raise WorkflowError(f"config/config.yaml: {where}: expected {expected}")
    known = sorted(path.stem for path in Path("config/claims").glob("*.yaml"))
    for claim in [config["claim"], *config["claims"]]:
        if claim not in known:
            expected = ", ".join(known)
            raise WorkflowError(
                f"config/config.yaml: claim is {claim!r}, expected one of: {expected}"
            )


require_valid_config()


ROLES = ["baseline", "candidate"]
TOOLS = {
    "cuda": ["memcheck", "racecheck", "initcheck", "synccheck"],
    "host": ["memcheck", "racecheck", "initcheck", "synccheck", "undefined"],
}
# Between the name of a claim and that of one of its workloads.
PART = "--"
SESSIONS = [
    f"s{n:02d}" for n in range(1, int(config["policy"]["timing"]["sessions"]) + 1)
]
CALIBRATION = "results/calibration.json"

HARNESS = ["Snakefile"] + sorted(
    str(path)
    for pattern in (
        "workflow/rules/*.smk",
        "workflow/schemas/*.json",
        "workflow/scripts/*.py",
        "workflow/scripts/fivegates/**/*.py",
        "workflow/scripts/fivegates/**/*.[ch]pp",
        "workflow/scripts/fivegates/**/*.h",
        "workflow/scripts/fivegates/**/*.cu",
        "kernels/controls/*.cu",
    )
    for path in Path(".").glob(pattern)
)


def claim_file(name):
    """The YAML of a claim, or of the claim that this is one workload of."""
    return f"config/claims/{name.partition(PART)[0]}.yaml"


@cache
def document_of(name):
    """What the YAML of a claim holds; nothing where it cannot be read."""
    try:
        return yaml.safe_load(Path(claim_file(name)).read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return None  # freeze_claim says what is wrong with it


def parts_of(claim):
    """A claim's workloads, each judged as a claim of its own; none where it has one."""
    document = document_of(claim)
    workloads = document.get("workloads") if isinstance(document, dict) else None
    names = workloads if isinstance(workloads, dict) else []
    if not all(re.fullmatch("[a-z0-9]+", str(name)) for name in names):
        return []  # freeze_claim says what is wrong with it
    return [f"{claim}{PART}{name}" for name in names]


def verdict_file(claim):
    """Where a claim ends: its receipt, or the table of those of its workloads."""
    return f"results/{claim}/{'portfolio' if parts_of(claim) else 'receipt'}.json"


def device_answers():
    """Whether the backend `auto` is a device here: a driver, a GPU and CuPy."""
    if find_spec("cupy") is None:
        return False
    command = [sys.executable, "workflow/scripts/choose_extra.py"]
    found = subprocess.run(command, capture_output=True, text=True).stdout
    return found.startswith("cuda")


def backend_of(claim):
    """cuda or host. Under `auto` a device takes a claim over from the host, and results
    that came from a device stay theirs where none answers."""
    if config["backend"] != "auto":
        return config["backend"]
    known = Path(f"results/{claim}/backend.json")
    try:
        measured = json.loads(known.read_text())["backend"] == "cuda"
    except (OSError, KeyError, TypeError, ValueError):
        measured = False
    return "cuda" if measured or DEVICE_ANSWERS else "host"


DEVICE_ANSWERS = config["backend"] == "auto" and device_answers()
CLAIMS = [path.stem for path in sorted(Path("config/claims").glob("*.yaml"))]
PORTFOLIOS = [claim for claim in CLAIMS if parts_of(claim)]
BACKENDS = {
    name: backend_of(name) for claim in CLAIMS for name in [claim, *parts_of(claim)]
}


def claims_on(kind):
    """The wildcard of claims that this backend judges; one that matches nothing if none."""
    return "|".join(name for name, k in sorted(BACKENDS.items()) if k == kind) or "(?!)"


def chosen_backend(wildcards):
    return BACKENDS[wildcards.claim]


def gate_threads(wildcards):
    """A gate has a device to itself; on the host both arms may be judged at once."""
    return workflow.cores if chosen_backend(wildcards) == "cuda" else 1


def tools_of(wildcards):
    return TOOLS[chosen_backend(wildcards)]


def sanitizer_records(wildcards):
    """Gate 2 of both arms, by the tools of the claim's backend."""
    return expand(
        "results/{{claim}}/{role}/sanitizer/{tool}.json",
        role=ROLES,
        tool=tools_of(wildcards),
    )


def session_records(wildcards):
    """Gate 3's sessions: those planned, and those that `fivegates sessions add` added."""
    folder = Path(f"results/{wildcards.claim}/timing")
    added = sorted(path.stem for path in folder.glob("s[0-9][0-9].json"))
    names = [*SESSIONS, *(name for name in added if name > SESSIONS[-1])]
    return [f"results/{wildcards.claim}/timing/{name}.json" for name in names]


def calibration(wildcards):
    """The calibration of this device, where there is one."""
    measured = chosen_backend(wildcards) == "cuda"
    return [CALIBRATION] if measured and Path(CALIBRATION).is_file() else []


def control_records(wildcards):
    return expand("results/{{claim}}/control/{tool}.json", tool=tools_of(wildcards))


wildcard_constraints:
    claim="[a-z0-9]+(--?[a-z0-9]+)*",
    role="|".join(ROLES),
    tool="|".join(TOOLS["cuda"]),
    number="[0-9]{2}",


def sanitizer_predecessors(wildcards):
    """memcheck comes first: the other tools are no guide to a kernel that fails it."""
    records = ["{role}/build", "{role}/reference", "control/{tool}"]
    if wildcards.tool != "memcheck":
        records.append("{role}/sanitizer/memcheck")
    return [f"results/{{claim}}/{record}.json" for record in records]


def meaning(path):
    """Digest of what a YAML file says: comments and layout do not count."""
    text = Path(path).read_bytes()
    try:
        text = json.dumps(yaml.safe_load(text), sort_keys=True, default=str).encode()
    except (TypeError, ValueError, yaml.YAMLError):
        pass  # freeze_claim says what is wrong with it
    return hashlib.sha256(text).hexdigest()


def claim_meaning(wildcards):
    return meaning(claim_file(wildcards.claim))


def claim_path(wildcards):
    return claim_file(wildcards.claim)


def workload_words(wildcards):
    name = wildcards.claim.partition(PART)[2]
    return ["--workload", name] if name else []


def part_receipts(wildcards):
    return [f"results/{part}/receipt.json" for part in parts_of(wildcards.claim)]


def declared(wildcards, *keys):
    """A value in the YAML of a claim, None where there is no such value."""
    value = document_of(wildcards.claim)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def existing(path):
    """The path as an input if it is a file; if not, freeze_claim says what is wrong."""
    return [path] if isinstance(path, str) and Path(path).is_file() else []


def kernel_source(wildcards):
    return existing(declared(wildcards, wildcards.role, "source"))


def contract(wildcards):
    return existing(f"kernels/{declared(wildcards, 'operation')}/operation.py")
