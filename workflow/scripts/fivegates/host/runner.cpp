// Runs a job (fivegates/job.py) on the CPU, linked with one kernel source.
//
// Usage: runner FOLDER. Exit status: 0 done, 2 the job cannot be run as written (the
// launch's arguments are not the kernel's parameters, a file is missing),
// 99 a sanitizer reported. A line on stderr says of each report which kernel, block and
// thread made it: the sanitizers know none of the three.
// C with a C++ compiler: no containers, so that it builds in half a second.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_host.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
void fivegates_thread(void** arguments);
const int* fivegates_parameters();

namespace {

constexpr size_t kAlignment = 256;  // cudaMalloc's
constexpr int kPoison = 0xff;
constexpr int kErrorExitStatus = 99;
#if defined(FIVEGATES_SANITIZED)
constexpr size_t kSlack = 0;  // exact: one byte behind the end is a finding
#else
// As on a device, an overrun here must not break the allocator: gate 2 judges it.
constexpr size_t kSlack = 1 << 16;
#endif
constexpr int kMaxBuffers = 32, kMaxArguments = 64, kMaxVariants = 1024;

struct Buffer {
    char name[64];
    bool output;
    size_t size;
    char* data;      // what the kernel sees: `size` bytes
    char* original;  // an input as it was read
};

struct Case {
    int index, launches;
    dim3 grid, block;
    int buffers, arguments;
    Buffer buffer[kMaxBuffers];
    char type[kMaxArguments][16], value[kMaxArguments][64];
};

const char* folder;
char entry[256];
bool inside_kernel = false;
long reports = 0;

[[noreturn]] void refuse(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::fputs("runner: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputs("\n", stderr);
    std::exit(2);
}

FILE* open_file(const char* name, const char* mode) {
    char path[4096];
    std::snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE* file = std::fopen(path, mode);
    if (file == nullptr) refuse("cannot open %s", path);
    return file;
}

char* allocate(size_t size) {
    void* data = nullptr;
    if (size != 0 && posix_memalign(&data, kAlignment, size + kSlack) != 0) {
        refuse("no memory for a buffer of %zu bytes", size);
    }
    return static_cast<char*>(data);
}

void read_input(const Case& c, Buffer& b) {
    if (b.size == 0) return;
    char name[128];
    std::snprintf(name, sizeof name, "%d.%s.bin", c.index, b.name);
    FILE* file = open_file(name, "rb");
    if (std::fread(b.data, 1, b.size, file) != b.size) {
        refuse("%s is shorter than %zu bytes", name, b.size);
    }
    std::fclose(file);
    b.original = allocate(b.size);
    std::memcpy(b.original, b.data, b.size);
}

void write_output(const Case& c, const Buffer& b, int variant) {
    char name[128];
    std::snprintf(name, sizeof name, "%d.%s.%d.bin", c.index, b.name, variant);
    FILE* file = open_file(name, "wb");
    if (std::fwrite(b.data, 1, b.size, file) != b.size || std::fclose(file) != 0) {
        refuse("cannot write %s", name);
    }
}

template <class T>
uint64_t bits(T value) {
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof value);
    return raw;
}

uint64_t argument_bits(const Case& c, int i) {
    const char *type = c.type[i], *value = c.value[i];
    if (std::strcmp(type, "buffer") == 0) {
        for (int k = 0; k < c.buffers; ++k)
            if (std::strcmp(c.buffer[k].name, value) == 0) return bits(c.buffer[k].data);
        refuse("no buffer %s", value);
    }
    if (std::strcmp(type, "float32") == 0) return bits(std::strtof(value, nullptr));
    if (std::strcmp(type, "float64") == 0) return bits(std::strtod(value, nullptr));
    if (type[0] == 'u') return bits(std::strtoull(value, nullptr, 10));
    return bits(std::strtoll(value, nullptr, 10));
}

void run_grid(void** arguments) {
    inside_kernel = true;
    for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
                for (threadIdx.z = 0; threadIdx.z < blockDim.z; ++threadIdx.z)
                    for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
                        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
                            fivegates_thread(arguments);
    inside_kernel = false;
}

// Distinct outputs of one case, each the concatenation of its output buffers.
struct Variants {
    char* seen[kMaxVariants];
    int count = 0;

    int number(const Case& c, size_t total) {
        char* output = allocate(total);
        size_t offset = 0;
        for (int i = 0; i < c.buffers; ++i) {
            const Buffer& b = c.buffer[i];
            if (!b.output || b.size == 0) continue;
            std::memcpy(output + offset, b.data, b.size);
            offset += b.size;
        }
        for (int i = 0; i < count; ++i) {
            if (total == 0 || std::memcmp(seen[i], output, total) == 0) {
                std::free(output);
                return i;
            }
        }
        if (count == kMaxVariants) refuse("more than %d different outputs", count);
        for (int i = 0; i < c.buffers; ++i)
            if (c.buffer[i].output) write_output(c, c.buffer[i], count);
        seen[count] = output;
        return count++;
    }

    ~Variants() {
        for (int i = 0; i < count; ++i) std::free(seen[i]);
    }
};

void launch_repeatedly(const Case& c, FILE* report) {
    uint64_t storage[kMaxArguments];
    void* arguments[kMaxArguments];
    for (int i = 0; i < c.arguments; ++i) {
        storage[i] = argument_bits(c, i);
        arguments[i] = &storage[i];
    }
    size_t total = 0;
    for (int i = 0; i < c.buffers; ++i) total += c.buffer[i].output ? c.buffer[i].size : 0;
    Variants variants;
    gridDim = c.grid;
    blockDim = c.block;
    const bool empty = gridDim.x == 0 || gridDim.y == 0 || gridDim.z == 0;
    for (int launch = 0; launch < (empty ? 0 : c.launches); ++launch) {
        for (int i = 0; i < c.buffers; ++i) {
            const Buffer& b = c.buffer[i];
            if (b.output && b.size != 0) std::memset(b.data, kPoison, b.size);
        }
        run_grid(arguments);
        std::fprintf(report, "%s%d", launch == 0 ? "" : ", ", variants.number(c, total));
    }
}

// A launch passes what the kernel takes; a device would read what lies beside it.
void check_parameters(const Case& c) {
    const int* sizes = fivegates_parameters();
    int count = 0;
    while (sizes[count] != 0) ++count;
    if (c.arguments != count) {
        refuse("%d are passed, the kernel takes %d", c.arguments, count);
    }
    for (int i = 0; i < count; ++i) {
        const int passed = std::strstr(c.type[i], "32") != nullptr ? 4 : 8;
        if (passed != sizes[i]) {
            refuse("[%d] is %s of %d bytes, the kernel takes %d", i, c.type[i], passed,
                   sizes[i]);
        }
    }
}

void run_case(Case& c, FILE* report) {
    check_parameters(c);
    for (int i = 0; i < c.buffers; ++i)
        if (!c.buffer[i].output) read_input(c, c.buffer[i]);
    std::fprintf(report, "{\"case\": %d, \"variants\": [", c.index);
    launch_repeatedly(c, report);
    std::fputs("], \"changed_inputs\": [", report);
    const char* separator = "";
    for (int i = 0; i < c.buffers; ++i) {
        const Buffer& b = c.buffer[i];
        if (b.output || b.size == 0 || std::memcmp(b.original, b.data, b.size) == 0)
            continue;
        std::fprintf(report, "%s\"%s\"", separator, b.name);
        separator = ", ";
    }
    std::fputs("], \"error\": null}\n", report);
    std::fflush(report);
    for (int i = 0; i < c.buffers; ++i) {
        std::free(c.buffer[i].data);
        std::free(c.buffer[i].original);
    }
}

void parse_line(const char* line, Case& c) {
    char kind[16] = "";
    std::sscanf(line, "%15s", kind);
    if (std::strcmp(kind, "input") == 0 || std::strcmp(kind, "output") == 0) {
        if (c.buffers == kMaxBuffers) refuse("more than %d buffers", kMaxBuffers);
        Buffer& b = c.buffer[c.buffers++];
        b = Buffer{};
        b.output = kind[0] == 'o';
        if (std::sscanf(line, "%*s %63s %zu", b.name, &b.size) != 2) refuse("%s", line);
        b.data = allocate(b.size);
    } else if (std::strcmp(kind, "pass") == 0) {
        if (c.arguments == kMaxArguments) refuse("more than %d arguments", kMaxArguments);
        const int i = c.arguments++;
        if (std::sscanf(line, "%*s %15s %63s", c.type[i], c.value[i]) != 2)
            refuse("%s", line);
    } else if (std::strcmp(kind, "entry") == 0) {
        std::sscanf(line, "entry %255[^\n]", entry);
    } else if (std::strcmp(kind, "binary") != 0) {
        refuse("unknown line: %s", line);
    }
}

// The host always poisons and has no dynamic shared memory: both words are skipped.
void parse_case(const char* line, Case& c) {
    c = Case{};
    if (std::sscanf(line,
                    "case %d launches %d poison %*d shared %*d grid %u %u %u block %u %u %u",
                    &c.index, &c.launches, &c.grid.x, &c.grid.y, &c.grid.z, &c.block.x,
                    &c.block.y, &c.block.z) != 8) {
        refuse("%s", line);
    }
}

void run_job(FILE* job, FILE* report) {
    static Case c;
    bool pending = false;
    char line[512];
    while (std::fgets(line, sizeof line, job) != nullptr) {
        if (std::strncmp(line, "case ", 5) != 0) {
            parse_line(line, c);
            continue;
        }
        if (pending) run_case(c, report);
        parse_case(line, c);
        pending = true;
    }
    if (pending) run_case(c, report);
    std::fprintf(report, "{\"done\": true, \"sanitizer_reports\": %ld}\n", reports);
}

}  // namespace

#if defined(FIVEGATES_SANITIZED)
// The sanitizer runtimes call these: options before main, note_report at each report,
// by AddressSanitizer behind its text and by UndefinedBehaviorSanitizer in front of it.
static void note_report() {
    ++reports;
    if (!inside_kernel) return;
    std::fprintf(stderr, "==fivegates== kernel=%s block=(%u,%u,%u) thread=(%u,%u,%u)\n",
                 entry, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                 threadIdx.z);
}

extern "C" void __asan_set_error_report_callback(void (*)(const char*));
extern "C" void __ubsan_on_report() { note_report(); }
extern "C" const char* __asan_default_options() {
    return "halt_on_error=0:detect_leaks=0:print_legend=0:color=never";
}
extern "C" const char* __ubsan_default_options() {
    return "print_stacktrace=0:color=never";
}
#endif

int main(int argc, char** argv) {
    if (argc != 2) refuse("expected one argument, the job's folder");
    folder = argv[1];
#if defined(FIVEGATES_SANITIZED)
    __asan_set_error_report_callback([](const char*) { note_report(); });
#endif
    FILE* job = open_file("job.txt", "r");
    FILE* report = open_file("report.jsonl", "w");
    run_job(job, report);
    if (std::fclose(report) != 0) refuse("cannot write report.jsonl");
    return reports == 0 ? 0 : kErrorExitStatus;
}
