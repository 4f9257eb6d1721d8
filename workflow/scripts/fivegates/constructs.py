"""What a kernel source may not hold, found by reading it.

On the host threads of a block run one after another, so whatever makes them meet cannot
run there. On both backends an arm is one file: what it includes would not be pinned.
"""

import re

UNSUPPORTED = re.compile(
    r"\b(__shared__|__constant__|__syncthreads\w*|__syncwarp|__shfl\w*_sync"
    r"|__(?:any|all|ballot|match_any|match_all|reduce_\w+)_sync|__activemask"
    r"|__threadfence\w*|atomic[A-Z]\w*|cooperative_groups|asm|__nanosleep"
    r"|clock64|__half2?|__nv_bfloat16\w*|nvcuda|cuda::\w+|tex[123]D\w*)\b"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


FOREIGN_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include(?:_next)?\b(?![ \t]*<(?!/)(?!.*\.\.)[^>\n]+>).*", re.M
)


def unsupported(source: str) -> str | None:
    """The first construct that the host cannot run, as `__shared__ at line 5`."""
    return _first(UNSUPPORTED, source)


def foreign_include(source: str) -> str | None:
    """The first include that is no toolkit header, as `#include "a.h" at line 2`."""
    return _first(FOREIGN_INCLUDE, source)


def is_no_kernel(source: str, entry: str) -> bool:
    """Whether `entry` stands in this source, and never behind `__global__`.

    A name that a macro pastes together does not stand there; the compiler decides.
    """
    name = re.escape(entry.partition("<")[0].strip())
    code = COMMENT.sub("", source)
    kernel = re.search(rf"__global__[^;{{}}]*\b{name}\s*\(", code)
    return kernel is None and re.search(rf"\b{name}\s*\(", code) is not None


def _first(pattern: re.Pattern[str], source: str) -> str | None:
    code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    found = pattern.search(code)
    if found is None:
        return None
    line = code.count("\n", 0, found.start()) + 1
    return f"{found[0].strip()} at line {line}"
