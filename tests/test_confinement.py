"""An arm is foreign native code on the host: what it may do is compute, and no more."""

import re
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from fivegates.arm import Argument, Launch
from fivegates.backend import Backend
from fivegates.building import build
from fivegates.contract import Case
from fivegates.errors import ClaimError
from fivegates.exercise import exercise, prepare, write_job
from fivegates.host.build import compile_arm
from fivegates.host.compiler import find_compiler
from fivegates.host.folder import read_findings, write_host_file
from fivegates.host.image import without_constructors
from fivegates.host.runtime import runner
from fivegates.host.symbols import lines
from fivegates.job import CaseJob, Job
from fivegates.reference import case_result, judge

HOST = Backend(kind="host", device=None, platform="Linux", packages={})
SIGNATURE = 'extern "C" __global__ void own(float* y, unsigned long long n)'

LAUNCH = Launch(
    grid=(1, 1, 1),
    block=(1, 1, 1),
    dynamic_shared_bytes=0,
    arguments=(
        Argument(kind="buffer", name="y", value=None),
        Argument(kind="scalar", name="uint64", value=1),
    ),
)
CASE = CaseJob(
    index=0, launches=2, poison=True, launch=LAUNCH, inputs={}, outputs={"y": 256}
)
JOB = Job(binary="kernel", entry="own", cases=(CASE,))


def refused(text):
    """Why the host does not run this source at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fivegates.host.device_compile.available", lambda: None)
        return build(HOST, text, name="k/own.cu", entry="own", options=[]).host[
            "refused"
        ]


def compiled(text):
    """The image of a source that no scan of its text has seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fivegates.host.build.hidden_construct", lambda *_: None)
        return compile_arm(
            find_compiler(),
            text,
            name="k/own.cu",
            entry="own",
            chosen=("values", "checked"),
        )


def run(folder, text, *, timeout_s=20.0, flavour="values"):
    """Launch a source that no scan has seen: its one case, and whether time ran out."""
    built = compiled(text)
    assert built.refused is None
    prepare(folder, JOB, built.images[flavour], [{}])
    mode = "values" if flavour == "values" else "checked"
    write_host_file(folder, built.images[flavour], text, mode=mode)
    return exercise("host", folder, JOB, timeout_s)


def verdict_of(claim, report):
    """What gate 1 says of a case that ended so."""
    case = Case(generator="lab", seed=7, sizes=dict(claim.workload.sizes))
    measured = {
        "timed_out": None,
        "accepted_impostors": [],
        "cases": [case_result(case, report, {})],
    }
    return judge(measured, claim)


def machine_code(number, *arguments, path=b""):
    """A kernel that makes one system call, in bytes that no scan and no linker sees."""
    registers = (0xBF48, 0xBE48, 0xBA48)  # rdi, rsi, rdx
    code = b""
    for prefix, value in zip(registers, arguments, strict=False):
        code += prefix.to_bytes(2, "little") + value.to_bytes(8, "little")
    if path:  # lea rdi, [rip + ...]: the path lies behind the code
        code += b"\x48\x8d\x3d" + (5 + 2 + 1).to_bytes(4, "little")
    code += b"\xb8" + number.to_bytes(4, "little") + b"\x0f\x05\xc3" + path + b"\0"
    numbers = ",".join(map(str, code))
    section = '__attribute__((section(".text,\\"ax\\",@progbits#")))'
    return (
        f"{section} const unsigned char code[] = {{{numbers}}};\n"
        f"{SIGNATURE} {{ y[0] = float(((long (*)())(const void*)code)()); }}"
    )


CALLS = {
    "opens a socket": machine_code(41, 2, 1, 0),
    "reads a file": machine_code(2, path=b"/etc/hostname"),
    "writes to standard output": machine_code(1, 1, 0, 0),
    "forks": machine_code(57),
    "maps memory": machine_code(9, 0, 1 << 30, 3),
    "kills": machine_code(62, 0, 0),
    "asks for its number, in the x32 way": machine_code(0x40000000 | 39),
}
X86 = pytest.mark.skipif(
    "x86" not in __import__("os").uname().machine, reason="machine code of x86-64"
)


@X86
@pytest.mark.parametrize("flavour", ["values", "checked"])
@pytest.mark.parametrize("what", CALLS)
def test_system_call_ends_the_case_and_is_not_run(claim, tmp_path, what, flavour):
    found = run(tmp_path, CALLS[what], flavour=flavour)
    (case,) = found.cases
    assert (case.error, case.limit) == (None, "the kernel made a system call")
    verdict = verdict_of(claim, case)
    assert (verdict.status, verdict.reason) == ("not-run", "limit-reached")
    assert verdict.message.endswith(": the kernel made a system call")


@X86
def test_file_that_an_arm_would_write_is_not_there(tmp_path):
    target = tmp_path / "written"
    create, mode = 0o1101, 0o644
    text = machine_code(2, path=str(target).encode())
    for register, value in ((b"\xbe", create), (b"\xba", mode)):
        code = ",".join(map(str, register + value.to_bytes(4, "little")))
        text = text.replace("code[] = {", f"code[] = {{{code},", 1)
    found = run(tmp_path, text)
    assert found.cases[0].limit == "the kernel made a system call"
    assert not target.exists()


NAMED = {
    "socket": 'extern "C" int socket(int, int, int);',
    "open": 'extern "C" int open(const char*, int, ...);',
    "fopen": 'extern "C" void* fopen(const char*, const char*);',
    "fork": 'extern "C" int fork();',
    "system": 'extern "C" int system(const char*);',
    "dlopen": 'extern "C" void* dlopen(const char*, int);',
    "exit": 'extern "C" void exit(int);',
    "mmap": 'extern "C" void* mmap(void*, unsigned long, int, int, int, long);',
}
ARGUMENTS = {
    "socket": "2, 1, 0",
    "open": '"/etc/hostname", 0',
    "fopen": '"/etc/hostname", "r"',
    "fork": "",
    "system": '"true"',
    "dlopen": '"libc.so.6", 1',
    "exit": "0",
    "mmap": "nullptr, 1 << 30, 3, 34, -1, 0",
}


@pytest.mark.parametrize("name", NAMED)
def test_function_of_the_system_is_refused_before_it_runs(name):
    body = f"y[0] = (long){name}({ARGUMENTS[name]});"
    if name == "exit":
        body = "exit(0);"
    text = f"{NAMED[name]}\n{SIGNATURE} {{ {body} }}"
    assert refused(text) == f"calls {name}, which a kernel cannot have here"


@pytest.mark.parametrize(
    "text",
    [
        "struct S { S(); int v; };\nS::S() { v = 7; }\nS s;\n",
        "int seven() { static volatile int v = 7; return v; }\nint s = seven();\n",
        "struct S { ~S() { *(volatile int*)0 = 1; } } s;\n",
    ],
    ids=["constructor", "dynamic initialiser", "destructor"],
)
def test_code_that_runs_at_load_is_refused(text):
    found = refused(text + SIGNATURE + "{ y[0] = 1; }")
    assert found in (
        "runs code when it is loaded (a dynamic initialiser or constructor)",
        "needs __dso_handle, which a kernel cannot have here",
    )


def test_constructor_by_attribute_is_refused_by_the_image():
    text = "volatile int v;\n__attribute__((constructor)) void early() { ++v; }\n"
    found = compiled(text + SIGNATURE + "{ y[0] = 1; }").refused
    assert found == "runs code when it is loaded (a dynamic initialiser or constructor)"


def test_function_that_is_chosen_at_load_is_refused_by_the_image():
    text = (
        'extern "C" { static void* pick() { return nullptr; }\n'
        'int chosen() __attribute__((ifunc("pick"))); }\n'
    )
    found = compiled(text + SIGNATURE + "{ y[0] = chosen(); }").refused
    assert found is not None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('asm volatile("mov.u32 %0, %laneid;" : "=r"(x));', "asm at line 1"),
        ('\n__asm__("nop");', "__asm__ at line 2"),
    ],
)
def test_inline_assembly_is_refused_before_it_compiles(text, found):
    assert refused(f"{SIGNATURE} {{ unsigned x = 0; {text} y[0] = x; }}") == found


@pytest.mark.parametrize(
    "text",
    [
        "#define PASTE(a, b) a##b\n#define A PASTE(a, sm)\n",
        "#define PASTE(a, b) a##b\n#define A PASTE(__as, m__)\n",
    ],
)
def test_assembly_that_macros_make_is_refused_before_it_compiles(text):
    found = refused(text + SIGNATURE + '{ A("nop"); y[0] = 1; }')
    assert re.fullmatch(r"(asm|__asm__) at line 3", found)


PASTE = "#define P(a,b) a##b\n"
HIDDEN = {
    "digit separator": "int a = 1'0; asm(\"nop\"); int b = 1'0;\n",
    "pasted attribute": PASTE + 'P(__attri,bute__)((section("x"))) int v;\n',
    "digraph attribute": '<:<:gnu::section("x")]] int v;\n',
    "spaced attribute": '[ [gnu::section("x")]] int v;\n',
    "prefixed raw string": 'auto a = u8R"(" /* )"; // */ \n',
    "the runtime's own macro": "FIVEGATES_RAW int f() { return 1; }\n",
    "pasted runtime macro": PASTE + "P(FIVE,GATES_RAW) int f() { return 1; }\n",
    "pragma by macro": PASTE + 'P(_Pra,gma)("GCC visibility push(hidden)")\n',
    "spliced keyword": 'as\\\nm("nop");\n',
    "backslash": "\\u0061sm;\n",
}


@pytest.mark.parametrize("what", HIDDEN)
def test_construct_that_hides_is_found(what):
    found = refused(HIDDEN[what] + SIGNATURE + "{ y[0] = 1; }")
    assert re.search(r" at line [12]$", found), found


def test_constructor_of_a_sanitizer_is_cut_out():
    """What an arm could smuggle into it never runs."""
    image = compiled(SIGNATURE + "{ y[0] = 1; }").images["checked"]
    assert image == without_constructors(image)
    tags = {
        tag.entry.d_tag: tag.entry.d_val
        for section in ELFFile(BytesIO(image)).iter_sections()
        if section.name == ".dynamic"
        for tag in section.iter_tags()
    }
    assert tags["DT_INIT_ARRAYSZ"] == 0


@pytest.mark.parametrize(
    "text",
    ["garbage\n", "[1]\n", '{"pc": 1}\n', "[" * 5000 + "\n", '{"case": 0}\n{"x": 1}\n'],
)
def test_log_that_an_arm_wrote_over_is_no_clean_log(tmp_path, text):
    image = compiled(SIGNATURE + "{ y[0] = 1; }").images["checked"]
    (tmp_path / "findings.jsonl").write_text(text)
    (row,) = read_findings(tmp_path, lines(image, "k/own.cu"))
    assert row["not_kept"] == 1


@pytest.mark.parametrize(
    "line",
    [
        '\f#include "/etc/passwd"',
        '\v#include "/etc/passwd"',
        'const char* a = "/*";\n#include "/etc/passwd"\nconst char* b = "*/";',
        '#include "/etc/passwd"',
        "#include </etc/passwd>",
        "#include <../../../etc/passwd>",
        '# \\\ninclude "/etc/passwd"',
        '%:include "/etc/passwd"',
        "#define HEADER </etc/passwd>\n#include HEADER",
        '#/* a */include "/etc/passwd"',
        '#include_next "/etc/passwd"',
        '#import "/etc/passwd"',
    ],
)
def test_no_file_but_the_arm_and_known_headers_is_read(line):
    """A file that was read would be an error of the compiler about its text."""
    text = f"{line}\n{SIGNATURE} {{ y[0] = 1; }}"
    try:
        found = refused(text)
    except ClaimError as error:
        found = str(error)
        assert "expected one file with <...> headers of the toolkit" in found
    assert found is not None
    assert "root:" not in found


@pytest.mark.parametrize(
    "line",
    [
        '#embed "/etc/passwd"',
        '#line 1 "elsewhere.cu"',
        '#pragma GCC dependency "/etc/passwd"',
        '#if __has_include("/etc/passwd")\n#endif',
        "#include <vector>",
        "#include <cub/cub.cuh>",
        '_Pragma("GCC poison x")',
        'const char* raw = R"(text)";',
    ],
)
def test_directive_that_is_no_kernels_is_refused(line):
    text = f"{line}\n{SIGNATURE} {{ y[0] = 1; }}"
    if "embed" in line:
        with pytest.raises(ClaimError, match="expected one file"):
            refused(text)
    else:
        assert refused(text) is not None


def test_hang_is_ended(tmp_path):
    found = run(
        tmp_path, SIGNATURE + "{ for (volatile int k = 1; k;) {} }", timeout_s=1
    )
    assert found.timed_out
    assert found.cases == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            f"__device__ float huge[1 << 28];\n{SIGNATURE} {{ y[0] = huge[n]; }}",
            r"needs 107374\d+ bytes of memory for its variables",
        ),
        (
            f"{SIGNATURE} {{ float* p = new float[n]; y[0] = p[0]; }}",
            "new at line 1",
        ),
        (
            f"{SIGNATURE} {{ float* p = (float*)malloc(n); y[0] = p[0]; }}",
            "malloc at line 1",
        ),
    ],
)
def test_memory_that_a_kernel_cannot_have_is_refused(text, found):
    assert re.fullmatch(found, refused(text))


def test_stack_without_end_is_not_run(claim, tmp_path):
    text = (
        "__device__ float deep(volatile float* y, int n) { volatile float a[64]; "
        "a[n % 64] = y[0]; return deep(y, n + 1) + a[n % 64]; }\n"
    )
    (case,) = run(tmp_path, text + SIGNATURE + "{ y[0] = deep(y, int(n)); }").cases
    assert case.limit == "a thread needs more than 128 KiB of stack"
    assert verdict_of(claim, case).status == "not-run"


def test_print_without_end_is_not_run(claim, tmp_path):
    (case,) = run(tmp_path, SIGNATURE + '{ for (;;) printf("%f\\n", y[0]); }').cases
    assert case.limit == "the kernel printed more than 1048576 bytes"
    assert verdict_of(claim, case).status == "not-run"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1 << 20


def test_print_of_a_line_is_no_fault(tmp_path):
    (case,) = run(tmp_path, SIGNATURE + '{ printf("%d\\n", 7); y[0] = 1; }').cases
    assert (case.error, case.limit, case.variants) == (None, None, (0, 0))


@pytest.mark.parametrize("kind", ["", '__attribute__((visibility("hidden")))'])
def test_arm_cannot_put_its_own_checker_in_place(kind):
    text = f'extern "C" {kind} void __tsan_write4(void*) {{}}\n'
    found = compiled(f"{text}{SIGNATURE} {{ y[64] = 1.0f; }}").refused
    assert found == "defines __tsan_write4, which is the runtime's"


def test_compile_is_bounded(tmp_path):
    text = (
        "template <int N> struct Deep { static const int v = Deep<N + 1>::v; };\n"
        f"{SIGNATURE} {{ y[0] = Deep<0>::v; }}"
    )
    with pytest.raises(ClaimError, match="does not compile for the host"):
        compiled(text)


def test_no_run_leaves_a_process_behind(tmp_path):
    run(tmp_path, SIGNATURE + "{ for (volatile int k = 1; k;) {} }", timeout_s=1)
    assert processes(tmp_path) == []


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_values_cross_the_fork(tmp_path):
    run(tmp_path, SIGNATURE + "{ y[0] = 42.0f; }")
    found = np.fromfile(tmp_path / "0.y.0.bin", dtype="float32")
    assert found[0] == 42
    assert np.isnan(found[1:]).all()


def test_kernel_does_not_outlive_who_waits_for_it(tmp_path):
    """The harness is killed so that it can end nothing itself."""
    image = compiled(SIGNATURE + "{ for (volatile int k = 1; k;) {} }").images["values"]
    prepare(tmp_path, JOB, image, [{}])
    write_host_file(tmp_path, image, "", mode="values")
    write_job(tmp_path, JOB)
    program = runner(find_compiler(), address=False)
    waiting = (
        f"import subprocess; subprocess.run([{str(program)!r}, {str(tmp_path)!r}])"
    )
    parent = subprocess.Popen([sys.executable, "-c", waiting])
    wait_for(lambda: len(processes(tmp_path)) == 3)  # Python, the runner, the kernel
    parent.kill()
    parent.wait()
    wait_for(lambda: processes(tmp_path) == [])


def processes(folder):
    """Processes that name the folder in their command line."""
    paths = Path("/proc").glob("[0-9]*/cmdline")
    return [path for path in paths if str(folder).encode() in _read(path)]


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
