"""What the two ways to call NVRTC share: CuPy's and NVIDIA's own binding."""

import re

HARNESS_OPTIONS = ("-lineinfo",)
ERROR = re.compile(r": (?:catastrophic )?error\b")


def first_error(log: str, name: str) -> str:
    """The first error of a compiler's log, by the repository path of the source."""
    lines = (line.strip() for line in log.splitlines())
    text = next((line for line in lines if ERROR.search(line)), "no message")
    return text.replace(f"/{name}(", f"{name}(")
