"""What a kernel source may not hold, found by reading its tokens as a compiler would.

On both backends an arm is one file: what it includes would not be pinned. On the host
it may hold nothing that only a device can execute, and no way past the compiler.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<raw>\b(?:u8|[uUL])?R")
  | (?P<text>(?:\b(?:u8|[uUL]))?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
  | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
  | (?P<word>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
  | (?P<newline>\n)
  | (?P<space>[ \t]+)
  | (?P<mark><<<|<:|%:|\[\s*\[|\#\#|.)
    """,
    re.S | re.X,
)
# Each stands for a group: inline assembly, tensor cores, asynchronous copies and their
# barriers, textures, grids and clusters that meet, launches and memory from a kernel,
# and what would change how the compiler takes the source.
UNSUPPORTED = re.compile(
    r"asm|__asm|__asm__|wmma|nvcuda|.*\bmma_sync|__pipeline_\w+|memcpy_async"
    r"|cuda::[\w:]+|tex[123]D\w*|surf[123]D\w*|cudaTextureObject_t|cudaSurfaceObject_t"
    r"|grid_group|cluster_group|__cluster_dims__|__managed__"
    r"|(?:.*::)?(?:this_grid|this_cluster|coalesced_threads|memcpy_async|grid_group)"
    r"|(?:nvcuda|wmma)::.*|__reduce_\w+_sync|__match_all_sync|__dp[24]a\w*"
    r"|__has_\w+|_Pragma|malloc|free|new|delete|throw|try|thread_local|typeid"
    r"|dynamic_cast|co_await|__attribute__|__attribute|__declspec"
    r"|(?i:fivegates)\w*"
)
UNSUPPORTED_MARKS = ("<<<", "<:", "%:", "\\")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|\?\?[=/'()!<>-]")
DIRECTIVES = frozenset(
    ("", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error")
)
PRAGMAS = ("unroll", "once")
CUDA_HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "math_constants.h")
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
TOOLKIT_HEADER = re.compile(r"<(?!/)(?!.*\.\.)[^>\n\\]+>")
MARKER = re.compile(r'^# (\d+) "([^"]*)"')
# What the runtime's own macros leave in the text; each by itself is harmless.
OWN_TEXT = re.compile(
    r'__asm__\("fivegates_dynamic_shared"\)|__attribute__\(\((?:used|noinline, flatten'
    r"|always_inline|aligned\([\w+*/ -]*\))\)\)"
)
HIDDEN = re.compile(
    r"asm|__asm|__asm__|__attribute__|__attribute|__declspec|_Pragma|__pragma"
)
FAST_INTRINSICS = re.compile(
    r"__(?:expf|exp10f|logf|log2f|log10f|sinf|cosf|tanf|sincosf|powf|fdividef"
    r"|frsqrt_rn|tanhf)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A word, number, mark or directive, and the line it begins in.

    A directive is one token: `text` is its name, a blank, the rest as it is written.
    """

    kind: str
    text: str
    line: int


def tokens(source: str) -> Iterator[Token]:
    """Tokens of a source: its lines spliced, its comments left out."""
    code, starts = _spliced(source)
    position, begins_line = 0, True
    while position < len(code):
        match = TOKEN.match(code, position)
        assert match is not None  # noqa: S101 - the last alternative takes anything
        kind, text, position = str(match.lastgroup), match[0], match.end()
        line = starts[match.start()]
        if kind == "mark" and text == "#" and begins_line:
            rest, position = _directive(code, position)
            yield Token(kind="directive", text=rest, line=line)
        elif kind not in ("comment", "space", "newline"):
            yield Token(kind=kind, text=text, line=line)
        begins_line = kind == "newline" or (
            begins_line and kind in ("comment", "space")
        )


def _spliced(source: str) -> tuple[str, list[int]]:
    """The source with its spliced lines joined, and the line of each character."""
    code, starts, line, position = [], [], 1, 0
    for splice in (*re.finditer(r"\\[ \t]*\n", source), None):
        end = len(source) if splice is None else splice.start()
        for character in source[position:end]:
            code.append(character)
            starts.append(line)
            line += character == "\n"
        if splice is not None:
            line, position = line + 1, splice.end()
    return "".join(code), [*starts, line]


def _directive(code: str, position: int) -> tuple[str, int]:
    """The text of a directive without its comments, and where its line ends."""
    parts = []
    while position < len(code) and code[position] != "\n":
        match = TOKEN.match(code, position)
        assert match is not None  # noqa: S101
        parts.append(" " if match.lastgroup == "comment" else match[0])
        position = match.end()
    return "".join(parts).strip(), position


def unsupported(source: str) -> str | None:
    """The first construct that the host cannot run, as `asm at line 5`."""
    if found := UNPRINTABLE.search(source.replace("\r\n", "\n")):
        return f"{found[0]!r} at line {source.count(chr(10), 0, found.start()) + 1}"
    for token in tokens(source):
        if token.kind == "directive" and not _allowed(token.text):
            return _named(token, f"#{token.text}")
        if token.kind == "directive":
            for inner in tokens(token.text.partition(" ")[2]):
                if _refused(inner):
                    return _named(token, inner.text)
        if _refused(token):
            return _named(token, token.text)
    return None


def _refused(token: Token) -> bool:
    if token.kind == "word":
        return UNSUPPORTED.fullmatch(token.text) is not None
    if token.kind == "mark":
        return token.text in UNSUPPORTED_MARKS or token.text.count("[") > 1
    return token.kind == "raw"


def _allowed(directive: str) -> bool:
    name, rest = _words(directive)
    if name == "include":
        return rest.startswith("<") and rest.strip("<>") in HOST_HEADERS
    if name == "pragma":
        return re.split(r"\W", rest)[0] in PRAGMAS
    return name in DIRECTIVES


def _words(directive: str) -> tuple[str, str]:
    match = re.match(r"(\w*)\s*(.*)", directive, re.S)
    return (match[1], match[2]) if match else ("", directive)


def needs_cuda_headers(source: str) -> bool:
    """Whether the source includes headers that NVIDIA's own toolkit must give."""
    wanted = [("include", f"<{header}>") for header in CUDA_HEADERS]
    return any(
        _words(token.text) in wanted
        for token in tokens(source)
        if token.kind == "directive"
    )


def foreign_include(source: str) -> str | None:
    """The first include that is no toolkit header, as `#include "a.h" at line 2`."""
    if found := re.search(r"[\x0b\x0c]|%:|\?\?=", source):
        return f"{found[0]!r} at line {source.count(chr(10), 0, found.start()) + 1}"
    for token in tokens(source):
        name, rest = _words(token.text) if token.kind == "directive" else ("", "")
        including = name in ("include", "include_next", "import", "embed")
        if including and not (
            name == "include" and TOOLKIT_HEADER.fullmatch(rest.strip())
        ):
            return _named(token, f"#{token.text}")
    return None


def hidden_construct(text: str, name: str) -> str | None:
    """What macros made of the arm, in a preprocessed text, that no arm may hold."""
    line, inside = 0, False
    rows: list[str] = []
    for row in text.splitlines():
        if marker := MARKER.match(row):
            line, inside = int(marker[1]), marker[2].endswith(f"/{name}")
            continue
        rows += [""] * (line - 1 - len(rows))
        if inside and line > len(rows):
            rows.append(OWN_TEXT.sub(" ", row))
        elif inside:
            rows[line - 1] += " " + OWN_TEXT.sub(" ", row)
        line += 1
    for token in tokens("\n".join(rows)):
        hidden = token.kind == "word" and HIDDEN.fullmatch(token.text)
        if hidden or (token.kind in ("mark", "raw") and _refused(token)):
            return _named(token, token.text)
        if token.kind == "directive" and not _allowed(token.text):
            return _named(token, f"#{token.text}")
    return None


def fast_intrinsics(source: str) -> tuple[str, ...]:
    """Intrinsics whose bits only a device has, in the order of the alphabet."""
    words = {token.text for token in tokens(source) if token.kind == "word"}
    return tuple(sorted(filter(FAST_INTRINSICS.fullmatch, words)))


def is_no_kernel(source: str, entry: str) -> bool:
    """Whether `entry` stands in this source, and never behind `__global__`.

    A name that a macro pastes together does not stand there; the compiler decides.
    """
    name = re.escape(entry.partition("<")[0].strip())
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.S)
    kernel = re.search(rf"__global__[^;{{}}]*\b{name}\s*\(", code)
    return kernel is None and re.search(rf"\b{name}\s*\(", code) is not None


def _named(token: Token, text: str) -> str:
    return f"{text} at line {token.line}"
