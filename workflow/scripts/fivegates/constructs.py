"""CUDA constructs that the host backend cannot run, found in the source beforehand.

There threads of a block run one after another, so whatever makes them meet, and all
that its header does not define, is named here rather than met as a compiler error.
"""

import re

UNSUPPORTED = re.compile(
    r"\b(__shared__|__constant__|__syncthreads\w*|__syncwarp|__shfl\w*_sync"
    r"|__(?:any|all|ballot|match_any|match_all|reduce_\w+)_sync|__activemask"
    r"|__threadfence\w*|atomic[A-Z]\w*|cooperative_groups|asm|__nanosleep"
    r"|clock(?:64)?|__half2?|__nv_bfloat16\w*|nvcuda|cuda::\w+|tex[123]D\w*)\b"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def unsupported(source: str) -> str | None:
    """The first such construct as `__shared__ at line 5`, or None."""
    code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    found = UNSUPPORTED.search(code)
    if found is None:
        return None
    return f"{found[0]} at line {code.count(chr(10), 0, found.start()) + 1}"
