"""One kernel's process under compute-sanitizer: what goes in, what logs come out."""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fivegates.arm import Role
from fivegates.claim import Claim, SanitizerPolicy
from fivegates.contract import Arrays, Operation
from fivegates.exercise import launcher, prepare, read_report, write_job
from fivegates.job import Job
from fivegates.process import portable, run
from fivegates.tools import Tool, find_compute_sanitizer, sanitizer_command
from fivegates.trial import job, one_case_of_each_size


@dataclass(frozen=True, kw_only=True, slots=True)
class Checker:
    """A tool of gate 2 on a device."""

    check: str
    tool: Tool
    padding_bytes: int
    timeout_s: float

    @property
    def identity(self) -> dict[str, Any]:
        """The tool as a record names it."""
        tool = self.tool
        return {"name": tool.name, "version": tool.version, "sha256": tool.sha256}

    @property
    def poison(self) -> bool:
        """Whether outputs are filled before a launch; initcheck must see them raw."""
        return self.check != "initcheck"

    def run(
        self, name: str, trial: Job, binary: bytes, inputs: Iterable[Arrays]
    ) -> tuple[dict[str, Any], Mapping[str, bytes]]:
        """Run a job: what was measured, and the logs `<name>.txt`, `<name>.xml`."""
        with tempfile.TemporaryDirectory(prefix="fivegates-") as temporary:
            folder = Path(temporary)
            prepare(folder, trial, binary, inputs)
            write_job(folder, trial)
            xml = folder / "report.xml"
            command = [*self._prefix(xml), *launcher("cuda", folder)]
            completed = run(command, timeout_s=self.timeout_s)
            report = read_report(folder)
            logs = {f"{name}.txt": completed.stdout.encode()}
            if xml.is_file():
                logs[f"{name}.xml"] = xml.read_bytes()
            hidden = {str(folder): "JOB", str(self.tool.path): self.tool.name}
        measured = {
            "name": name,
            "command": list(portable(command, hidden)),
            "exit_status": completed.exit_status,
            "completed": report.done,
            "reports": report.sanitizer_reports,
            "launches": sum(len(case.variants) for case in report.cases),
        }
        return measured, logs

    def run_arm(
        self,
        claim: Claim,
        operation: Operation,
        role: Role,
        binary: bytes,
        symbol: str,
    ) -> tuple[dict[str, Any], Mapping[str, bytes]]:
        """Run an arm once on a case of each size, as `run` does."""
        chosen = one_case_of_each_size(claim, operation)
        trial = job(
            claim,
            operation,
            role,
            chosen,
            entry=symbol,
            launches=1,
            poison=self.poison,
        )
        return self.run(self.check, trial, binary, map(operation.allocations, chosen))

    def _prefix(self, xml: Path) -> list[str | Path]:
        return sanitizer_command(
            self.tool, self.check, xml=xml, padding_bytes=self.padding_bytes
        )


def checker(check: str, policy: SanitizerPolicy) -> Checker:
    """The checker of one tool; ToolError when compute-sanitizer is not installed."""
    return Checker(
        check=check,
        tool=find_compute_sanitizer(),
        padding_bytes=policy.padding_bytes,
        timeout_s=policy.timeout_s,
    )
