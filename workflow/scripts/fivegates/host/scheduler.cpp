// One operating-system thread runs a block: every CUDA thread is a fiber. A thread that
// never waits runs on the stack of the one before it, so a plain kernel costs two
// switches a block. Blocks run one after another.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "include/warp_operations.h"
#include "runtime.hpp"
#if defined(FIVEGATES_ADDRESS)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

extern "C" {
uint3 fivegates_index[4];
}

char launch_error[512];
unsigned active_thread = kNobody, active_block;

namespace {

enum class State : uint8_t { kNew, kReady, kAtBarrier, kAtWarp, kDone };

struct Context {
    void* stack_pointer;
};

struct Fiber {
    Context context;
    char* stack;  // above a guard page
    int thread;   // -1 while idle
    void* fake_stack;
};

struct Thread {
    State state;
    Fiber* fiber;
    int line;        // of the source, where it waits
    int site;        // which barrier of the source: its copies in the code are one
    int predicate;
    unsigned mask;
    int operation, argument, width;
    uint64_t value, result;
};

Observer observer;
Fiber fibers[kMaxThreads];
Fiber* idle[kMaxThreads];
unsigned idle_count;
Thread threads[kMaxThreads];
uint3 positions[kMaxThreads];
unsigned order_of_threads[kMaxThreads], ready[kMaxThreads];
unsigned thread_count, next_new, ready_count, alive, at_barrier, at_warp;
int reduced[3];  // count, and, or
bool yielding, shuffled;
uint64_t random_state;
Fiber* current;  // null in the launcher
Context launcher;
const Kernel* running;
void** kernel_arguments;
Ended ended;
size_t printed, guard_bytes;
long long ticks;

uint64_t draw() {  // splitmix64
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void shuffle(unsigned* items, unsigned count) {
    for (unsigned i = count; i > 1; --i) {
        const unsigned j = unsigned((draw() >> 32) * i >> 32), kept = items[i - 1];
        items[i - 1] = items[j];
        items[j] = kept;
    }
}

// ---- switching ----------------------------------------------------------------------------

extern "C" void fivegates_switch(Context* from, const Context* to);
#if defined(__x86_64__)
asm(R"(
.text
.globl fivegates_switch
.type fivegates_switch,@function
fivegates_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq (%rsi), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size fivegates_switch,.-fivegates_switch
)");
constexpr int kSavedWords = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl fivegates_switch
.type fivegates_switch,%function
fivegates_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  ldr x9, [x1]
  mov sp, x9
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size fivegates_switch,.-fivegates_switch
)");
#else
#error "the host backend switches fibers on x86-64 and aarch64 only"
#endif

void prepare(Fiber& fiber, void (*start)()) {
    void** top = reinterpret_cast<void**>(fiber.stack + kStackBytes);
#if defined(__x86_64__)
    *--top = nullptr;  // the return address of `start`, and the alignment of a call
    *--top = reinterpret_cast<void*>(start);
    for (int i = 0; i < kSavedWords; ++i) *--top = nullptr;
#else
    top -= 20;
    memset(top, 0, 160);
    top[11] = reinterpret_cast<void*>(start);
#endif
    fiber.context.stack_pointer = top;
    fiber.thread = -1;
    fiber.fake_stack = nullptr;
}

#if defined(FIVEGATES_ADDRESS)
const void* launcher_stack;
size_t launcher_stack_bytes;
void* launcher_fake_stack;
#endif

void become(unsigned t) {
    active_thread = t;
    threadIdx = positions[t];
}

void switch_to(Fiber* to) {  // null: the launcher
    Fiber* from = current;
    current = to;
    if (to != nullptr) become(unsigned(to->thread));
    else active_thread = kNobody;
#if defined(FIVEGATES_ADDRESS)
    __sanitizer_start_switch_fiber(from ? &from->fake_stack : &launcher_fake_stack,
                                   to ? to->stack : launcher_stack,
                                   to ? kStackBytes : launcher_stack_bytes);
#endif
    fivegates_switch(from ? &from->context : &launcher, to ? &to->context : &launcher);
#if defined(FIVEGATES_ADDRESS)
    __sanitizer_finish_switch_fiber(from ? from->fake_stack : launcher_fake_stack, nullptr,
                                    nullptr);
#endif
}

// ---- choosing what runs next --------------------------------------------------------------

int take_new() {
    if (next_new == thread_count) return -1;
    return int(order_of_threads[next_new++]);
}

int take_ready() {
    if (ready_count == 0) return -1;
    const unsigned i = shuffled ? unsigned(draw() % ready_count) : ready_count - 1;
    const unsigned taken = ready[i];
    ready[i] = ready[--ready_count];
    return int(taken);
}

void make_ready(unsigned t) {
    threads[t].state = State::kReady;
    ready[ready_count++] = t;
}

void start(unsigned t) {
    Fiber* fiber = idle[--idle_count];
    fiber->thread = int(t);
    threads[t].fiber = fiber;
    switch_to(fiber);
}

void resume(unsigned t) {
    Fiber* fiber = threads[t].fiber;
    if (fiber == current) return become(t);
    switch_to(fiber);
}

void release_barrier() {
    int first = -1, exited = -1;
    bool divergent = false;
    reduced[0] = reduced[2] = 0;
    reduced[1] = 1;
    for (unsigned t = 0; t < thread_count; ++t) {
        const Thread& thread = threads[t];
        if (thread.state != State::kAtBarrier) {
            if (exited < 0) exited = int(t);
            continue;
        }
        if (first < 0) first = int(t);
        const Thread& other = threads[first];
        if (!divergent && thread.site != other.site) {
            divergent = true;
            observer.misuse("divergent-barriers", true, other.line, thread.line, unsigned(first), t,
                        at_barrier);
        }
        reduced[0] += thread.predicate;
        reduced[1] &= thread.predicate;
        reduced[2] |= thread.predicate;
    }
    if (exited >= 0) {
        observer.misuse("barrier-after-exit", false, threads[first].line, 0,
                    unsigned(first), unsigned(exited), at_barrier);
    }
    for (unsigned i = thread_count; i-- > 0;) {
        const unsigned t = order_of_threads[i];
        if (threads[t].state == State::kAtBarrier) make_ready(t);
    }
    at_barrier = 0;
    observer.barrier();
}

// Lanes of a warp as bits: those in one state.
unsigned lanes_in(unsigned first, State state) {
    unsigned lanes = 0;
    for (unsigned l = 0; l < kWarp && first + l < thread_count; ++l)
        if (threads[first + l].state == state) lanes |= 1u << l;
    return lanes;
}

// The lane that a shuffle reads; its own where the width ends.
unsigned source_lane(const Thread& thread, unsigned lane) {
    const unsigned width = unsigned(thread.width), segment = lane / width * width;
    const unsigned argument = unsigned(thread.argument);
    unsigned source = lane;
    if (thread.operation == kShuffleIndex) source = segment + argument % width;
    if (thread.operation == kShuffleUp) source = lane - argument;
    if (thread.operation == kShuffleDown) source = lane + argument;
    if (thread.operation == kShuffleXor) source = lane ^ argument;
    const bool outside = source / width != lane / width || source >= kWarp;
    // An xor may read a segment before its own, as on the device.
    if (thread.operation == kShuffleXor && source < segment) return source;
    return outside ? lane : source;
}

uint64_t warp_result(unsigned first, unsigned lane, unsigned group, unsigned ballot) {
    const Thread& thread = threads[first + lane];
    switch (thread.operation) {
        case kVoteAny:
            return ballot != 0;
        case kVoteAll:
            return ballot == group;
        case kVoteBallot:
            return ballot;
        case kActiveMask:
            return group;
        case kMatchAny: {
            unsigned equal = 0;
            for (unsigned l = 0; l < kWarp; ++l)
                if (group >> l & 1 && threads[first + l].value == thread.value)
                    equal |= 1u << l;
            return equal;
        }
        case kWarpSync:
        case kYield:
            return 0;
    }
    const unsigned source = source_lane(thread, lane);
    if (group >> source & 1) return threads[first + source].value;
    const bool exists = first + source < thread_count;  // else its value is mostly unused
    observer.misuse("inactive-lane", exists, thread.line, 0, first + lane, first + source, 0);
    return 0xdeadbeefdeadbeefu;
}

// The waiting lanes that one lane meets: same operation, same mask. Lanes that ask for
// the active mask, or yield, meet whoever waits beside them at the same place.
unsigned group_of(unsigned first, unsigned leader, unsigned waiting) {
    const Thread& one = threads[first + leader];
    const bool placed = one.operation == kActiveMask || one.operation == kYield;
    unsigned group = 0;
    for (unsigned l = 0; l < kWarp; ++l) {
        if (!(waiting >> l & 1)) continue;
        const Thread& other = threads[first + l];
        if (other.operation != one.operation) continue;
        if (placed ? other.line == one.line : other.mask == one.mask) group |= 1u << l;
    }
    return group;
}

void release_group(unsigned first, unsigned leader, unsigned group) {
    unsigned ballot = 0;
    for (unsigned l = 0; l < kWarp; ++l)
        if (group >> l & 1 && threads[first + l].value) ballot |= 1u << l;
    for (unsigned l = 0; l < kWarp; ++l)
        if (group >> l & 1) threads[first + l].result = warp_result(first, l, group, ballot);
    if (threads[first + leader].operation == kWarpSync) observer.sync(first, group);
    observer.exchange(first, group);
    for (unsigned l = kWarp; l-- > 0;) {
        if (!(group >> l & 1)) continue;
        make_ready(first + l);
        --at_warp;
    }
}

bool release_warps() {
    bool released = false;
    for (unsigned first = 0; first < thread_count; first += kWarp) {
        unsigned waiting = lanes_in(first, State::kAtWarp);
        const unsigned exited = lanes_in(first, State::kDone);
        while (waiting != 0) {
            const unsigned leader = unsigned(__builtin_ctz(waiting));
            const Thread& one = threads[first + leader];
            const unsigned group = group_of(first, leader, waiting);
            const bool placed = one.operation == kActiveMask || one.operation == kYield;
            const unsigned named = placed ? group : one.mask;
            waiting &= ~group;
            const unsigned beyond =
                first + kWarp <= thread_count ? 0 : ~0u << (thread_count - first);
            if (named & ~exited & ~beyond & ~group) continue;  // a lane is still to come
            if (named & exited) {
                observer.misuse("mask-names-exited-lane", false, one.line, 0,
                            first + leader,
                            first + unsigned(__builtin_ctz(named & exited)), 0);
            }
            release_group(first, leader, group);
            released = true;
        }
    }
    return released;
}

void describe(char* text, size_t size, unsigned t) {
    const uint3 p = thread_position(t);
    snprintf(text, size, "thread (%u,%u,%u)", p.x, p.y, p.z);
}

[[noreturn]] void give_up() {
    int barrier = -1, warp = -1;
    for (unsigned t = thread_count; t-- > 0;) {
        if (threads[t].state == State::kAtBarrier) barrier = int(t);
        if (threads[t].state == State::kAtWarp) warp = int(t);
    }
    const int one = warp >= 0 ? warp : barrier, other = barrier >= 0 ? barrier : warp;
    observer.misuse("deadlock", true, threads[one].line, threads[other].line, unsigned(one),
                unsigned(other), at_barrier);
    char first[64], second[64];
    describe(first, sizeof first, unsigned(one));
    describe(second, sizeof second, unsigned(other));
    const uint3 b = block_position(active_block);
    snprintf(launch_error, sizeof launch_error,
             "deadlock in block (%u,%u,%u): %s waits in a %s, %s in a %s", b.x, b.y, b.z,
             first, warp >= 0 ? "warp operation" : "barrier", second,
             barrier >= 0 ? "barrier" : "warp operation");
    end_launch(Ended::kDeadlock);
}

// Leaves the current fiber, which waits, yields or is done, for what runs next. Returns
// when that fiber runs again.
void dispatch() {
    for (;;) {
        const bool prefer_new = yielding;
        yielding = false;
        int t = prefer_new ? take_new() : -1;
        if (t >= 0) return start(unsigned(t));
        // Who yields may wait for lanes that wait for each other.
        if (prefer_new && at_warp != 0) release_warps();
        if ((t = take_ready()) >= 0) return resume(unsigned(t));
        if ((t = take_new()) >= 0) return start(unsigned(t));
        if (at_warp != 0 && release_warps()) continue;
        if (at_barrier != 0 && at_barrier == alive) {
            release_barrier();
            continue;
        }
        if (alive != 0) give_up();
        if (current != nullptr) switch_to(nullptr);
        return;
    }
}

void fiber_main() {
#if defined(FIVEGATES_ADDRESS)
    if (launcher_stack == nullptr) {
        __sanitizer_finish_switch_fiber(nullptr, &launcher_stack, &launcher_stack_bytes);
    } else {
        __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
    }
#endif
    for (;;) {
        Fiber* self = current;
        const unsigned t = unsigned(self->thread);
        threads[t].state = State::kReady;
        become(t);
        running->thread(kernel_arguments);
        threads[t].state = State::kDone;
        --alive;
        const int next = ready_count == 0 ? take_new() : -1;
        if (next >= 0) {
            self->thread = next;
            threads[next].fiber = self;
            continue;
        }
        self->thread = -1;
        idle[idle_count++] = self;
        dispatch();
    }
}

void reset_fibers() {
    idle_count = kMaxThreads;
    for (unsigned i = 0; i < kMaxThreads; ++i) {
        prepare(fibers[i], fiber_main);
        idle[i] = &fibers[kMaxThreads - 1 - i];
    }
}

void run_block(unsigned linear, uint64_t order) {
    active_block = linear;
    blockIdx = block_position(linear);
    for (unsigned i = 0; i < thread_count; ++i) {
        order_of_threads[i] = order == 1 ? thread_count - 1 - i : i;
        threads[i].state = State::kNew;
    }
    if (shuffled) shuffle(order_of_threads, thread_count);
    next_new = ready_count = at_barrier = at_warp = 0;
    alive = thread_count;
    observer.block(linear);
    dispatch();
}

}  // namespace

void observe(const Observer& told) { observer = told; }

uint3 thread_position(unsigned t) { return positions[t % kMaxThreads]; }

uint3 block_position(unsigned b) {
    return {b % gridDim.x, b / gridDim.x % gridDim.y, b / (gridDim.x * gridDim.y)};
}

bool on_own_stack(uintptr_t address) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(current->stack);
    return address - begin < kStackBytes;
}

bool on_guard_page(uintptr_t address) {
    if (current == nullptr) return false;
    return reinterpret_cast<uintptr_t>(current->stack) - address <= guard_bytes;
}

void map_fibers() {
    const size_t guard = size_t(sysconf(_SC_PAGESIZE)), stride = kStackBytes + guard;
    guard_bytes = guard;
    char* pages = static_cast<char*>(reserve((kMaxThreads + 1) * stride, false));
    char* stacks = pages + guard - reinterpret_cast<uintptr_t>(pages) % guard;
    for (unsigned i = 0; i < kMaxThreads; ++i) {
        if (mprotect(stacks + i * stride, guard, PROT_NONE) != 0) refuse("no guard page");
        fibers[i].stack = stacks + i * stride + guard;
    }
}

Ended run_launch(const Kernel& kernel, const Launch& launch, uint64_t order) {
    running = &kernel;
    kernel_arguments = launch.arguments;
    gridDim = {launch.grid.x, launch.grid.y, launch.grid.z};
    blockDim = {launch.block.x, launch.block.y, launch.block.z};
    thread_count = blockDim.x * blockDim.y * blockDim.z;
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    shuffled = order >= 2;
    random_state = order;
    ended = Ended::kDone;
    for (unsigned t = 0; t < kMaxThreads; ++t) {
        positions[t] = {t % blockDim.x, t / blockDim.x % blockDim.y,
                        t / (blockDim.x * blockDim.y)};
    }
    reset_fibers();
    observer.launch(thread_count, blocks);
    // Blocks in a drawn order: an offset and a stride that shares no factor.
    uint64_t offset = 0, stride = 1;
    if (shuffled && blocks > 2) {
        offset = draw() % blocks;
        auto share = [](uint64_t a, uint64_t b) {
            while (b != 0) {
                const uint64_t rest = a % b;
                a = b;
                b = rest;
            }
            return a != 1;
        };
        do stride = 1 + draw() % (blocks - 1);
        while (share(stride, blocks));
    }
    for (uint64_t i = 0; i < blocks && ended == Ended::kDone; ++i) {
        const uint64_t linear = order == 1 ? blocks - 1 - i : (offset + i * stride) % blocks;
        run_block(unsigned(linear), order);
    }
    return ended;
}

void end_launch(Ended how) {
    ended = how;
    switch_to(nullptr);
    __builtin_unreachable();
}

void yield_thread() {
    const unsigned t = active_thread;
    threads[t].state = State::kReady;
    memmove(ready + 1, ready, ready_count * sizeof *ready);
    ready[0] = t;
    ++ready_count;
    yielding = true;
    dispatch();
}

// ---- what the kernel calls ----------------------------------------------------------------

namespace {

Thread& wait_at_barrier(int site, int predicate, int line) {
    Thread& thread = threads[active_thread];
    thread.state = State::kAtBarrier;
    thread.site = site;
    thread.predicate = predicate;
    thread.line = line;
    ++at_barrier;
    dispatch();
    return thread;
}

}  // namespace

extern "C" {

void fivegates_barrier(int site, int line) { wait_at_barrier(site, 0, line); }

int fivegates_barrier_reduce(int predicate, int operation, int site, int line) {
    wait_at_barrier(site, predicate, line);
    return reduced[operation];
}

uint64_t fivegates_warp(unsigned mask, int operation, uint64_t value, int argument,
                        int width, int line) {
    const unsigned t = active_thread;
    Thread& thread = threads[t];
    if (operation == kYield) {
        yield_thread();
        return 0;
    }
    thread.state = State::kAtWarp;
    thread.mask = mask;
    thread.operation = operation;
    thread.value = value;
    thread.argument = argument;
    thread.width = width;
    thread.line = line;
    ++at_warp;
    if (operation != kActiveMask && !(mask >> t % kWarp & 1)) {
        observer.misuse("caller-not-in-mask", true, line, 0, t, t, 0);
    }
    dispatch();
    return thread.result;
}

int fivegates_print(const char* format, ...) {
    constexpr size_t kPrintLimit = 1 << 20;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    printed += length > 0 ? size_t(length) : 1;
    if (printed > kPrintLimit) {
        snprintf(launch_error, sizeof launch_error,
                 "the kernel printed more than %zu bytes", kPrintLimit);
        end_launch(Ended::kPrintLimit);
    }
    return length;
}

void fivegates_trap() {
    const uint3 t = threadIdx, b = blockIdx;
    snprintf(launch_error, sizeof launch_error,
             "trap by thread (%u,%u,%u) of block (%u,%u,%u)", t.x, t.y, t.z, b.x, b.y, b.z);
    end_launch(Ended::kTrap);
}

long long fivegates_clock() { return ++ticks; }

}  // extern "C"
