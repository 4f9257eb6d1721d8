"""What a kernel source may not hold, found by reading it.

On both backends an arm is one file: what it includes would not be pinned. On the host
it may hold nothing that only a device can execute, and no way past the compiler.
"""

import re

# Each stands for a group: inline assembly, tensor cores, asynchronous copies and their
# barriers, textures, grids and clusters that meet, launches and memory from a kernel.
UNSUPPORTED = re.compile(
    r"\b(?:asm|__asm|__asm__|wmma|nvcuda|mma_sync|__pipeline_\w+|memcpy_async"
    r"|cuda::\w+|tex[123]D\w*|surf[123]D\w*|cudaTextureObject_t|cudaSurfaceObject_t"
    r"|this_grid|grid_group|this_cluster|cluster_group|__cluster_dims__|__managed__"
    r"|coalesced_threads|__reduce_\w+_sync|__match_all_sync|__dp[24]a\w*"
    r"|__has_include\w*|__has_embed|_Pragma|malloc|free|new|delete|throw|try"
    r"|thread_local|typeid|dynamic_cast|co_await|__attribute__|__attribute|__declspec)\b"
    r"|<<<|\[\[|\bR\""
)
LITERAL = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/"
    r"|(\"(?:[^\"\\\n]|\\.|\\\n)*\"|'(?:[^'\\\n]|\\.|\\\n)*')",
    re.S,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
FOREIGN_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include(?:_next)?\b(?![ \t]*<(?!/)(?!.*\.\.)[^>\n]+>).*", re.M
)
DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w*)[ \t]*(.*)$", re.M)
DIRECTIVES = frozenset(
    ("", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error")
)
CUDA_HEADERS = ("cuda_fp16.h", "cuda_bf16.h")
HOST_HEADERS = (
    *CUDA_HEADERS,
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cuda_runtime.h",
    "vector_types.h",
    "stdint.h",
    "stddef.h",
    "float.h",
    "limits.h",
    "cstdint",
    "cstddef",
    "cfloat",
    "climits",
)
ASSEMBLY = re.compile(r"\b(?:asm|__asm|__asm__)\b")
OWN_ASSEMBLY = '__asm__("fivegates_dynamic_shared")'
MARKER = re.compile(r'^# (\d+) "([^"]*)"')
FAST_INTRINSICS = re.compile(
    r"\b__(?:expf|exp10f|logf|log2f|log10f|sinf|cosf|tanf|sincosf|powf|fdividef"
    r"|frsqrt_rn|tanhf)\b"
)


def unsupported(source: str) -> str | None:
    """The first construct that the host cannot run, as `asm at line 5`."""
    code = _without_text(source)
    if found := UNSUPPORTED.search(code):
        return _at(code, found)
    for directive in DIRECTIVE.finditer(code):
        if not _allowed(directive[1], directive[2].strip()):
            return _at(code, directive)
    return None


def _allowed(directive: str, rest: str) -> bool:
    if directive == "include":
        return rest.startswith("<") and rest.strip("<>") in HOST_HEADERS
    if directive == "pragma":
        return rest.split("(")[0].split()[:1] in (["unroll"], ["once"])
    return directive in DIRECTIVES


def needs_cuda_headers(source: str) -> bool:
    """Whether the source includes NVIDIA's headers of half or bfloat16."""
    code = _without_text(source)
    return any(f"<{header}>" in code for header in CUDA_HEADERS)


def foreign_include(source: str) -> str | None:
    """The first include that is no toolkit header, as `#include "a.h" at line 2`."""
    code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    found = FOREIGN_INCLUDE.search(code)
    return None if found is None else _at(code, found)


def hidden_assembly(text: str, name: str) -> str | None:
    """Inline assembly that macros made, in the arm's lines of a preprocessed text."""
    line, inside = 0, False
    for row in text.splitlines():
        if marker := MARKER.match(row):
            line, inside = int(marker[1]), marker[2].endswith(f"/{name}")
            continue
        code = _without_text(row.replace(OWN_ASSEMBLY, "")) if inside else ""
        if found := ASSEMBLY.search(code):
            return f"{found[0]} at line {line}"
        line += 1
    return None


def fast_intrinsics(source: str) -> tuple[str, ...]:
    """Intrinsics whose bits only a device has, in the order of the alphabet."""
    return tuple(sorted(set(FAST_INTRINSICS.findall(_without_text(source)))))


def is_no_kernel(source: str, entry: str) -> bool:
    """Whether `entry` stands in this source, and never behind `__global__`.

    A name that a macro pastes together does not stand there; the compiler decides.
    """
    name = re.escape(entry.partition("<")[0].strip())
    code = COMMENT.sub("", source)
    kernel = re.search(rf"__global__[^;{{}}]*\b{name}\s*\(", code)
    return kernel is None and re.search(rf"\b{name}\s*\(", code) is not None


def _without_text(source: str) -> str:
    """The source without comments and the insides of literals, its lines kept.

    A line that is spliced is one line to the compiler, so it is one here.
    """

    def blank(match: re.Match[str]) -> str:
        return ('""' if match[1] else " ") + "\n" * match[0].count("\n")

    spliced = re.sub(r"((?:[^\n]*\\[ \t]*\n)+)([^\n]*)", _splice, source)
    return LITERAL.sub(blank, spliced)


def _splice(match: re.Match[str]) -> str:
    joined = re.sub(r"\\[ \t]*\n", "", match[0])
    return joined + "\n" * match[0].count("\n")


def _at(code: str, found: re.Match[str]) -> str:
    line = code.count("\n", 0, found.start()) + 1
    return f"{found[0].strip()} at line {line}"
