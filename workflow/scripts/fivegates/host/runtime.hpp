// What the parts of the runtime know of each other. C with a C++ compiler: no containers,
// no exceptions, no library but libc, so that any compiler builds it in a second.
//
// Each file calls only those below it:
//   runner.cpp     reads the job, forks a child for each case, writes what it answered
//   confine.cpp    takes the child's system calls away before the arm runs
//   callbacks.cpp  what instrumented code calls
//   checker.cpp    who touched what, and may it
//   findings.cpp   what was found, and where
//   census.cpp     requests, sectors and bank passes of each access
//   scheduler.cpp  fibers: threads, warps, barriers, the order of execution
//   memory.cpp     pages, and the one way to give up
#pragma once

#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};

// What a kernel reads of its place, in the order of include/cuda_host.hpp.
extern "C" uint3 fivegates_index[4];
#define threadIdx fivegates_index[0]
#define blockIdx fivegates_index[1]
#define blockDim fivegates_index[2]
#define gridDim fivegates_index[3]

constexpr unsigned kMaxThreads = 1024, kWarp = 32;
constexpr size_t kStackBytes = 128 * 1024;

// ---- memory -------------------------------------------------------------------------------

[[noreturn]] void refuse(const char* format, ...);
void* reserve(size_t size, bool shared);  // zeroed pages, committed when touched

// ---- scheduler ----------------------------------------------------------------------------

struct Kernel {
    void (*thread)(void** arguments);
    char name[256];
};

struct Launch {
    dim3 grid, block;
    size_t dynamic_shared_bytes;
    void** arguments;
};

// How a launch ended; what is not kDone comes with a text in `launch_error`.
enum class Ended { kDone, kDeadlock, kTrap, kLostMemory, kPrintLimit };

extern char launch_error[512];

void map_fibers();  // reserves the stacks, before system calls are gone
// Runs every block of a launch. `order` 0 is ascending, 1 descending, others are seeds.
Ended run_launch(const Kernel& kernel, const Launch& launch, uint64_t order);
[[noreturn]] void end_launch(Ended how);  // from inside a thread
void yield_thread();                      // lets threads run that have not yet
constexpr unsigned kNobody = ~0u;
extern unsigned active_thread, active_block;  // linear in the block, in the grid
inline bool inside_kernel() { return active_thread != kNobody; }
uint3 thread_position(unsigned linear);
uint3 block_position(unsigned linear);
bool on_own_stack(uintptr_t address);
bool on_guard_page(uintptr_t address);

// Who is told of what the threads do together.
struct Observer {
    void (*launch)(unsigned threads, unsigned blocks);
    void (*block)(unsigned linear);
    void (*barrier)();
    // Lanes of a warp that met: in any way, and in one that orders memory.
    void (*exchange)(unsigned first_thread, unsigned lanes);
    void (*sync)(unsigned first_thread, unsigned lanes);
    void (*misuse)(const char* kind, bool error, int line, int other_line, unsigned thread,
                   unsigned other_thread, unsigned arrived);
};
void observe(const Observer& observer);

// ---- findings -----------------------------------------------------------------------------

extern bool checking;

struct Where {
    uint32_t pc, other_pc;  // in the arm's image, or
    int line, other_line;   // of the source, or
    const void* place;      // a compiler's own file and line
};

struct Finding {
    const char *check, *kind;
    bool error;
    Where where;
    long count;
    uint3 block, thread, other_block, other_thread;
    char detail[320];  // the rest of the JSON object
};

// A new finding, or null where one like it is there already.
Finding* found(const char* check, const char* kind, bool error, const Where& where);
void detail(Finding* finding, const char* format, ...);
bool has_errors();
void report_sync(const char* kind, bool error, int line, int other_line, unsigned thread,
                 unsigned other_thread, unsigned arrived);
void report_fault(uintptr_t address);
// Writes what was found as JSON lines; the number of errors.
long write_findings(char* text, size_t capacity, size_t* length);

// ---- checker ------------------------------------------------------------------------------

enum class Space : uint8_t { kGlobal, kShared };
// An unaligned access is one whose type says nothing of its address.
enum AccessKind : unsigned {
    kRead = 1,
    kWrite = 2,
    kAtomic = 4,
    kVolatile = 8,
    kUnaligned = 16,
};

extern const char* dynamic_shared_name;

void map_checker(size_t threads);  // of the largest launch
// Memory that a kernel may touch; `initialised` says whether the host wrote it.
void add_region(const char* name, void* begin, size_t size, Space space, bool initialised);
// Memory that a kernel may read unseen: constants of its image.
void add_constant(uintptr_t begin, uintptr_t end);
// Memory that is mapped: an access elsewhere ends the launch, as on a device.
void add_mapping(uintptr_t begin, uintptr_t end);
void set_image(uintptr_t begin, uintptr_t end);  // of the arm
Observer checker_observer();

void access(uintptr_t address, unsigned size, unsigned kind, const void* pc);
void fence();
void meet_at_atomic(uintptr_t address);

// ---- census -------------------------------------------------------------------------------

extern bool counting;

void map_census();
void count_access(uintptr_t address, unsigned size, bool store, Space space, uint32_t pc,
                  unsigned thread);
void close_census_block();
size_t write_census(char* text, size_t capacity);

// ---- confinement --------------------------------------------------------------------------

void confine();
