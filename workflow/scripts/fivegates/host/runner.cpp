// Runs a job (fivegates/job.py) on the CPU: the arm is a shared object `kernel` in the
// job's folder, host.txt says what else there is to know of it (fivegates/host/folder.py):
//
//     mode values | checked | address        census 0|1
//     shared NAME OFFSET BYTES               a __shared__ variable in the arm's image
//     static NAME OFFSET BYTES               a variable of the module
//     ignored NAME OFFSET BYTES              one that the compiler made for itself
//
// Usage: runner FOLDER. Each case runs in a child that has no system calls left when the
// arm's first instruction runs; the parent runs no code of the arm and writes the answer.
// Exit status: 0 done, 2 the job cannot be run as written, 99 something was found.

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime.hpp"
#if defined(FIVEGATES_ADDRESS)
#include <sanitizer/asan_interface.h>
#endif

constexpr size_t kMaxShared = 232448;  // what a block can have on the newest devices
constexpr size_t kSlack = 1 << 16;     // around each buffer: a near overrun breaks nothing
extern "C" {
alignas(1024) char fivegates_dynamic_shared[kMaxShared + kSlack];
}

namespace {

constexpr int kPoison = 0xff, kFoundStatus = 99;
constexpr int kMaxBuffers = 32, kMaxArguments = 64, kMaxVariants = 1024, kMaxObjects = 128;
constexpr size_t kTextBytes = 1 << 20;
constexpr unsigned kMaxSeconds = 3600;  // if all else fails; the policy's time ends before

struct Buffer {
    char name[64];
    bool output;
    size_t size;
    char *map, *data, *original;  // `data` is what the kernel sees: `size` bytes
};

struct Case {
    int index, launches;
    size_t shared;
    dim3 grid, block;
    int buffers, arguments;
    Buffer buffer[kMaxBuffers];
    char type[kMaxArguments][16], value[kMaxArguments][64];
    size_t start[kMaxArguments];  // byte of a buffer that is passed
};

struct Object {
    char name[128];
    bool shared, ignored;
    size_t offset, size;
};

enum class Mode { kValues, kChecked, kAddress };

// What a child leaves behind, in memory that it shares with its parent.
struct Answer {
    bool refused, limited, failed;  // what `error` is
    int launches, variant_count, variant[kMaxVariants];
    long reports;
    size_t findings_bytes, census_bytes;
    char error[512], findings[kTextBytes], census[kTextBytes];
};

const char* folder;
Kernel kernel;
Mode mode = Mode::kValues;
Object objects[kMaxObjects];
int object_count;
Answer* answer;
char* outputs;  // the distinct outputs of a case, one behind the other
long reports;

FILE* open_file(const char* name, const char* access) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE* file = fopen(path, access);
    if (file == nullptr) refuse("cannot open %s", path);
    return file;
}

size_t output_bytes(const Case& c) {
    size_t total = 0;
    for (int i = 0; i < c.buffers; ++i) total += c.buffer[i].output ? c.buffer[i].size : 0;
    return total;
}

// ---- the child: everything before confine() prepares, everything behind it is the arm's ---

[[noreturn]] void finish() {
    if (mode == Mode::kChecked) {
        answer->reports =
            write_findings(answer->findings, kTextBytes, &answer->findings_bytes);
        if (counting) answer->census_bytes = write_census(answer->census, kTextBytes);
    }
    syscall(SYS_exit_group, 0);
    __builtin_unreachable();
}

[[noreturn]] void end_case(bool& kind, const char* text) {
    kind = true;
    snprintf(answer->error, sizeof answer->error, "%s", text);
    finish();
}

void on_fault(int, siginfo_t* info, void*) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (on_guard_page(address)) {
        end_case(answer->limited, "a thread needs more than 128 KiB of stack");
    }
    report_fault(address);
    end_case(answer->failed, "segmentation fault");
}

void catch_faults() {
    static char stack[1 << 16];
    const stack_t alternate = {stack, 0, sizeof stack};
    sigaltstack(&alternate, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

void* load_arm(const int* (**parameters)()) {
    char path[4096];
    snprintf(path, sizeof path, "%s/kernel", folder);
    // Some linkers drop a library that the runner itself does not call.
    if (dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL) == nullptr) refuse("no libm.so.6");
    void* image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (image == nullptr) refuse("cannot load the arm: %s", dlerror());
    *reinterpret_cast<void**>(&kernel.thread) = dlsym(image, "fivegates_thread");
    *reinterpret_cast<void**>(parameters) = dlsym(image, "fivegates_parameters");
    return image;
}

int find_image(struct dl_phdr_info* info, size_t, void* base) {
    if (info->dlpi_addr != *static_cast<uintptr_t*>(base)) return 0;
    uintptr_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t from = info->dlpi_addr + segment.p_vaddr;
        const uintptr_t here = from + segment.p_memsz;
        if (!(segment.p_flags & PF_W)) add_constant(from, here);
        if (here > end) end = here;
    }
    set_image(info->dlpi_addr, end);
    add_mapping(info->dlpi_addr, end);
    return 1;
}

void add_objects(void* image) {
    struct link_map* map = nullptr;
    if (dlinfo(image, RTLD_DI_LINKMAP, &map) != 0) refuse("cannot find the arm's image");
    uintptr_t base = map->l_addr;
    dl_iterate_phdr(find_image, &base);
    for (int i = 0; i < object_count; ++i) {
        const Object& o = objects[i];
        const uintptr_t begin = base + o.offset;
        if (o.ignored) {
            add_constant(begin, begin + o.size);
            continue;
        }
        add_region(o.name, reinterpret_cast<void*>(begin), o.size,
                   o.shared ? Space::kShared : Space::kGlobal, !o.shared);
    }
}

void add_buffers(const Case& c) {
    for (int i = 0; i < c.buffers; ++i) {
        const Buffer& b = c.buffer[i];
        const uintptr_t begin = reinterpret_cast<uintptr_t>(b.data);
        add_mapping(begin - kSlack, begin + b.size + kSlack);
        add_region(b.name, b.data, b.size, Space::kGlobal, !b.output);
#if defined(FIVEGATES_ADDRESS)
        __asan_poison_memory_region(b.data - kSlack, kSlack);
        __asan_poison_memory_region(b.data + b.size, kSlack);
#endif
    }
    const uintptr_t shared = reinterpret_cast<uintptr_t>(fivegates_dynamic_shared);
    add_mapping(shared, shared + sizeof fivegates_dynamic_shared);
    if (c.shared == 0) return;
    add_region(dynamic_shared_name, fivegates_dynamic_shared, c.shared, Space::kShared,
               false);
#if defined(FIVEGATES_ADDRESS)
    __asan_poison_memory_region(fivegates_dynamic_shared + c.shared,
                                sizeof fivegates_dynamic_shared - c.shared);
#endif
}

template <class T>
uint64_t bits(T value) {
    uint64_t raw = 0;
    memcpy(&raw, &value, sizeof value);
    return raw;
}

uint64_t argument_bits(const Case& c, int i) {
    const char *type = c.type[i], *value = c.value[i];
    if (strcmp(type, "buffer") == 0) {
        for (int k = 0; k < c.buffers; ++k)
            if (strcmp(c.buffer[k].name, value) == 0)
                return bits(c.buffer[k].data + c.start[i]);
        refuse("no buffer %s", value);
    }
    if (strcmp(type, "float32") == 0) return bits(strtof(value, nullptr));
    if (strcmp(type, "float64") == 0) return bits(strtod(value, nullptr));
    if (type[0] == 'u') return bits(strtoull(value, nullptr, 10));
    return bits(strtoll(value, nullptr, 10));
}

// A launch passes what the kernel takes; a device would read what lies beside it.
void check_parameters(const Case& c, const int* sizes) {
    char text[256] = "";
    int count = 0;
    while (sizes[count] != 0) ++count;
    if (c.arguments != count) {
        snprintf(text, sizeof text, "%d are passed, the kernel takes %d", c.arguments, count);
        end_case(answer->refused, text);
    }
    for (int i = 0; i < count; ++i) {
        const int passed = strstr(c.type[i], "32") != nullptr ? 4 : 8;
        if (passed == sizes[i]) continue;
        snprintf(text, sizeof text, "[%d] is %s of %d bytes, the kernel takes %d", i,
                 c.type[i], passed, sizes[i]);
        end_case(answer->refused, text);
    }
}

// Which distinct output of the case this launch left.
int variant_of(const Case& c, size_t total) {
    char* mine = outputs + answer->variant_count * total;
    size_t offset = 0;
    for (int i = 0; i < c.buffers; ++i) {
        const Buffer& b = c.buffer[i];
        if (!b.output) continue;
        memcpy(mine + offset, b.data, b.size);
        offset += b.size;
    }
    for (int i = 0; i < answer->variant_count; ++i)
        if (memcmp(outputs + i * total, mine, total) == 0) return i;
    return answer->variant_count++;
}

void launch_repeatedly(const Case& c) {
    uint64_t storage[kMaxArguments];
    void* arguments[kMaxArguments];
    for (int i = 0; i < c.arguments; ++i) {
        storage[i] = argument_bits(c, i);
        arguments[i] = &storage[i];
    }
    const Launch launch = {c.grid, c.block, c.shared, arguments};
    const size_t total = output_bytes(c);
    const bool empty = c.grid.x == 0 || c.grid.y == 0 || c.grid.z == 0;
    for (int k = 0; k < (empty ? 0 : c.launches); ++k) {
        for (int i = 0; i < c.buffers; ++i)
            if (c.buffer[i].output) memset(c.buffer[i].data, kPoison, c.buffer[i].size);
        const Ended how = run_launch(kernel, launch, uint64_t(k));
        if (how == Ended::kPrintLimit) end_case(answer->limited, launch_error);
        if (how != Ended::kDone) end_case(answer->failed, launch_error);
        answer->variant[k] = variant_of(c, total);
        answer->launches = k + 1;
    }
}

[[noreturn]] void run_arm(const Case& c, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // no kernel outlives who waits for it
    if (getppid() != parent) _exit(2);
    const int* (*parameters)();
    void* image = load_arm(&parameters);
    const size_t threads = size_t(c.grid.x) * c.grid.y * c.grid.z * c.block.x * c.block.y *
                           c.block.z;
    map_fibers();
    if (mode == Mode::kChecked) map_checker(threads);
    if (counting) map_census();
    add_objects(image);
    add_buffers(c);
    if (mode != Mode::kAddress) catch_faults();
    const rlimit none = {0, 0}, seconds = {kMaxSeconds, kMaxSeconds};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &seconds);
    confine();
    check_parameters(c, parameters());
    launch_repeatedly(c);
    finish();
}

// ---- the parent ---------------------------------------------------------------------------

void read_input(const Case& c, Buffer& b) {
    char name[128];
    snprintf(name, sizeof name, "%d.%s.bin", c.index, b.name);
    FILE* file = open_file(name, "rb");
    if (fread(b.data, 1, b.size, file) != b.size)
        refuse("%s is shorter than %zu bytes", name, b.size);
    fclose(file);
    b.original = static_cast<char*>(malloc(b.size));
    if (b.original == nullptr) refuse("no memory for %zu bytes", b.size);
    memcpy(b.original, b.data, b.size);
}

void write_output(const Case& c, const Buffer& b, int variant, const char* data) {
    char name[128];
    snprintf(name, sizeof name, "%d.%s.%d.bin", c.index, b.name, variant);
    FILE* file = open_file(name, "wb");
    if (fwrite(data, 1, b.size, file) != b.size || fclose(file) != 0)
        refuse("cannot write %s", name);
}

void write_outputs(const Case& c, size_t total) {
    for (int v = 0; v < answer->variant_count && v < c.launches; ++v) {
        const char* data = outputs + v * total;
        for (int i = 0; i < c.buffers; ++i) {
            if (!c.buffer[i].output) continue;
            write_output(c, c.buffer[i], v, data);
            data += c.buffer[i].size;
        }
    }
}

// A signal is the arm's doing: a forbidden call, a fault, too much memory.
void explain_end(int status) {
    if (WIFEXITED(status)) {
        if (WEXITSTATUS(status) == 2) exit(2);  // it said why
        if (WEXITSTATUS(status) == 0) return;
        answer->failed = true;
        snprintf(answer->error, sizeof answer->error, "process ended with exit status %d",
                 WEXITSTATUS(status));
        return;
    }
    const int signal = WTERMSIG(status);
    answer->limited = signal == SIGSYS || signal == SIGKILL;
    answer->failed = !answer->limited;
    const char* text = signal == SIGSYS   ? "the kernel made a system call"
                       : signal == SIGILL ? "process ended by SIGILL"
                       : signal == SIGSEGV ? "process ended by SIGSEGV"
                       : signal == SIGFPE  ? "process ended by SIGFPE"
                                           : strsignal(signal);
    snprintf(answer->error, sizeof answer->error, "%s", text);
}

// A JSON string: `text` is the runtime's own, or names of the claim.
void write_string(FILE* file, const char* text) {
    fputc('"', file);
    for (; *text != 0; ++text) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc(*text >= ' ' && *text < 127 ? *text : ' ', file);
    }
    fputc('"', file);
}

void write_report(const Case& c, FILE* report) {
    fprintf(report, "{\"case\": %d, \"variants\": [", c.index);
    for (int k = 0; k < answer->launches && k < c.launches; ++k) {
        const int v = answer->variant[k];
        fprintf(report, "%s%d", k == 0 ? "" : ", ", v >= 0 && v < c.launches ? v : 0);
    }
    fputs("], \"changed_inputs\": [", report);
    const char* separator = "";
    for (int i = 0; i < c.buffers; ++i) {
        const Buffer& b = c.buffer[i];
        if (b.output || memcmp(b.original, b.data, b.size) == 0) continue;
        fputs(separator, report);
        write_string(report, b.name);
        separator = ", ";
    }
    fputs("], \"error\": ", report);
    answer->error[sizeof answer->error - 1] = 0;
    if (answer->failed) write_string(report, answer->error);
    else fputs("null", report);
    fputs(", \"limit\": ", report);
    if (answer->limited) write_string(report, answer->error);
    else fputs("null", report);
    fputs("}\n", report);
    fflush(report);
}

void write_text(FILE* file, int index, const char* text, size_t length) {
    if (length == 0 || length > kTextBytes) return;
    fprintf(file, "{\"case\":%d}\n", index);
    fwrite(text, 1, length, file);
}

void run_case(Case& c, FILE* report, FILE* findings, FILE* census) {
    if (c.launches > kMaxVariants) refuse("more than %d launches", kMaxVariants);
    for (int i = 0; i < c.buffers; ++i) {
        Buffer& b = c.buffer[i];
        b.map = static_cast<char*>(reserve(b.size + 2 * kSlack, true));
        b.data = b.map + kSlack;
        if (!b.output) read_input(c, b);
    }
    const size_t total = output_bytes(c), room = (total + 1) * size_t(c.launches + 1);
    outputs = static_cast<char*>(reserve(room, true));
    answer = static_cast<Answer*>(reserve(sizeof(Answer), true));
    fflush(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) refuse("cannot fork");
    if (child == 0) run_arm(c, parent);
    int status = 0;
    if (waitpid(child, &status, 0) != child) refuse("lost the child");
    explain_end(status);
    if (answer->refused) refuse("%.500s", answer->error);
    reports += answer->reports;
    write_outputs(c, total);
    write_report(c, report);
    write_text(findings, c.index, answer->findings, answer->findings_bytes);
    write_text(census, c.index, answer->census, answer->census_bytes);
    munmap(answer, sizeof(Answer));
    munmap(outputs, room);
    for (int i = 0; i < c.buffers; ++i) {
        munmap(c.buffer[i].map, c.buffer[i].size + 2 * kSlack);
        free(c.buffer[i].original);
    }
}

// ---- the job ------------------------------------------------------------------------------

void parse_line(const char* line, Case& c) {
    char kind[16] = "";
    sscanf(line, "%15s", kind);
    if (strcmp(kind, "input") == 0 || strcmp(kind, "output") == 0) {
        if (c.buffers == kMaxBuffers) refuse("more than %d buffers", kMaxBuffers);
        Buffer& b = c.buffer[c.buffers++];
        b = Buffer{};
        b.output = kind[0] == 'o';
        if (sscanf(line, "%*s %63s %zu", b.name, &b.size) != 2) refuse("%s", line);
    } else if (strcmp(kind, "pass") == 0) {
        if (c.arguments == kMaxArguments) refuse("more than %d arguments", kMaxArguments);
        const int i = c.arguments++;
        if (sscanf(line, "%*s %15s %63s %zu", c.type[i], c.value[i], &c.start[i]) < 2)
            refuse("%s", line);
    } else if (strcmp(kind, "entry") == 0) {
        sscanf(line, "entry %255[^\n]", kernel.name);
    } else if (strcmp(kind, "binary") != 0) {
        refuse("unknown line: %s", line);
    }
}

// Outputs are always poisoned here, and always uninitialised to the checker.
void parse_case(const char* line, Case& c) {
    c = Case{};
    if (sscanf(line,
               "case %d launches %d poison %*d shared %zu grid %u %u %u block %u %u %u",
               &c.index, &c.launches, &c.shared, &c.grid.x, &c.grid.y, &c.grid.z,
               &c.block.x, &c.block.y, &c.block.z) != 9) {
        refuse("%s", line);
    }
    if (double(c.grid.x) * c.grid.y * c.grid.z > 2147483647.0)
        refuse("a grid of more than 2147483647 blocks");
    const size_t threads = size_t(c.block.x) * c.block.y * c.block.z;
    if (threads == 0 || threads > kMaxThreads)
        refuse("a block of %zu threads, expected 1 to %u", threads, kMaxThreads);
    if (c.shared > kMaxShared)
        refuse("%zu bytes of shared memory, expected at most %zu", c.shared, kMaxShared);
}

void read_host_file() {
    FILE* file = open_file("host.txt", "r");
    char kind[16], word[128];
    while (fscanf(file, "%15s %127s", kind, word) == 2) {
        if (strcmp(kind, "mode") == 0) {
            mode = word[0] == 'v'   ? Mode::kValues
                   : word[0] == 'c' ? Mode::kChecked
                                    : Mode::kAddress;
            checking = mode == Mode::kChecked;
        } else if (strcmp(kind, "census") == 0) {
            counting = word[0] == '1';
        } else {
            if (object_count == kMaxObjects) refuse("more than %d variables", kMaxObjects);
            Object& o = objects[object_count++];
            o.shared = strcmp(kind, "shared") == 0;
            o.ignored = strcmp(kind, "ignored") == 0;
            snprintf(o.name, sizeof o.name, "%s", word);
            if (fscanf(file, "%zu %zu", &o.offset, &o.size) != 2) refuse("host.txt: %s", word);
        }
    }
    fclose(file);
}

void run_job(FILE* job, FILE* report) {
    FILE *findings = open_file("findings.jsonl", "w"), *census = open_file("census.jsonl", "w");
    static Case c;
    bool pending = false;
    char line[512];
    while (fgets(line, sizeof line, job) != nullptr) {
        if (strncmp(line, "case ", 5) != 0) {
            parse_line(line, c);
            continue;
        }
        if (pending) run_case(c, report, findings, census);
        parse_case(line, c);
        pending = true;
    }
    if (pending) run_case(c, report, findings, census);
    fprintf(report, "{\"done\": true, \"sanitizer_reports\": %ld}\n", reports);
    if (fclose(findings) != 0 || fclose(census) != 0) refuse("cannot write what was found");
}

}  // namespace

#if defined(FIVEGATES_ADDRESS)
// AddressSanitizer knows neither kernel nor block nor thread: a line behind each report.
// A second opinion needs no more than a thousand.
static void note_report(const char*) {
    constexpr long kEnough = 1000;
    if (++answer->reports == kEnough) end_case(answer->failed, "1000 reports, no more");
    if (!inside_kernel()) return;
    const uint3 b = block_position(active_block), t = thread_position(active_thread);
    fprintf(stderr, "==fivegates== kernel=%s block=(%u,%u,%u) thread=(%u,%u,%u)\n",
            kernel.name, b.x, b.y, b.z, t.x, t.y, t.z);
}

extern "C" const char* __asan_default_options() {
    return "halt_on_error=0:detect_leaks=0:print_legend=0:color=never:symbolize=0:"
           "detect_stack_use_after_return=0:allow_user_segv_handler=1:"
           "suppress_equal_pcs=0:start_deactivated=0";
}
#endif

int main(int argc, char** argv) {
    if (argc != 2) refuse("expected one argument, the job's folder");
    folder = argv[1];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#if defined(FIVEGATES_ADDRESS)
    __asan_set_error_report_callback(note_report);
#endif
    observe(checker_observer());
    read_host_file();
    FILE* job = open_file("job.txt", "r");
    FILE* report = open_file("report.jsonl", "w");
    run_job(job, report);
    if (fclose(report) != 0) refuse("cannot write report.jsonl");
    return reports == 0 ? 0 : kFoundStatus;
}
