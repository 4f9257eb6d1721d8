"""Wildcards, paths and path lists. What a claim means is not decided here."""

import hashlib
import json
import yaml
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
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
SESSIONS = [
    f"s{n:02d}" for n in range(1, int(config["policy"]["timing"]["sessions"]) + 1)
]

HARNESS = ["Snakefile"] + sorted(
    str(path)
    for pattern in (
        "workflow/rules/*.smk",
        "workflow/schemas/*.json",
        "workflow/scripts/*.py",
        "workflow/scripts/fivegates/**/*.py",
        "workflow/scripts/fivegates/**/*.[ch]pp",
        "workflow/scripts/fivegates/**/*.cu",
        "kernels/controls/*.cu",
    )
    for path in Path(".").glob(pattern)
)


wildcard_constraints:
    claim="[a-z0-9]+(-[a-z0-9]+)*",
    role="|".join(ROLES),
    tool="|".join(TOOLS),
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
    return meaning(f"config/claims/{wildcards.claim}.yaml")


def declared(wildcards, *keys):
    """A value in the YAML of a claim, None where there is no such value."""
    try:
        value = yaml.safe_load(
            Path(f"config/claims/{wildcards.claim}.yaml").read_bytes()
        )
        for key in keys:
            value = value[key]
        return value
    except (OSError, KeyError, TypeError, ValueError, yaml.YAMLError):
        return None


def existing(path):
    """The path as an input if it is a file; if not, freeze_claim says what is wrong."""
    return [path] if isinstance(path, str) and Path(path).is_file() else []


def kernel_source(wildcards):
    return existing(declared(wildcards, wildcards.role, "source"))


def contract(wildcards):
    return existing(f"kernels/{declared(wildcards, 'operation')}/operation.py")
