// What the arm calls: the hooks that a compiler inserts for its thread and undefined-
// behaviour sanitizers, and the runtime's fences and atomics. No sanitizer is linked.

#include <string.h>

#include "runtime.hpp"

namespace {

constexpr unsigned kSpin = 1000;  // atomics of one thread before others get a turn
unsigned spinning, spinning_thread;

void volatile_access(uintptr_t address, unsigned size, unsigned kind, const void* pc) {
    access(address, size, kind | kVolatile, pc);
    if (kind & kRead && inside_kernel()) yield_thread();
}

}  // namespace

#define PC __builtin_return_address(0)
#define ADDRESS reinterpret_cast<uintptr_t>(p)

extern "C" {

void fivegates_fence(int scope) {
    if (scope >= 1 && inside_kernel()) fence();
}

void fivegates_atomic(const void* p, int size, const void* pc) {
    if (!inside_kernel()) return;
    const unsigned thread = active_thread;
    spinning = thread == spinning_thread ? spinning + 1 : 0;
    spinning_thread = thread;
    if (spinning >= kSpin) {
        spinning = 0;
        yield_thread();
    }
    access(ADDRESS, unsigned(size), kRead | kWrite | kAtomic, pc);
    meet_at_atomic(ADDRESS);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define CALLBACKS(N)                                                                      \
    void __tsan_read##N(void* p) { access(ADDRESS, N, kRead, PC); }                       \
    void __tsan_write##N(void* p) { access(ADDRESS, N, kWrite, PC); }                     \
    void __tsan_unaligned_read##N(void* p) {                                              \
        access(ADDRESS, N, kRead | kUnaligned, PC);                                       \
    }                                                                                     \
    void __tsan_unaligned_write##N(void* p) {                                             \
        access(ADDRESS, N, kWrite | kUnaligned, PC);                                      \
    }                                                                                     \
    void __tsan_volatile_read##N(void* p) { volatile_access(ADDRESS, N, kRead, PC); }     \
    void __tsan_volatile_write##N(void* p) { volatile_access(ADDRESS, N, kWrite, PC); }   \
    void __tsan_unaligned_volatile_read##N(void* p) {                                     \
        volatile_access(ADDRESS, N, kRead | kUnaligned, PC);                              \
    }                                                                                     \
    void __tsan_unaligned_volatile_write##N(void* p) {                                    \
        volatile_access(ADDRESS, N, kWrite | kUnaligned, PC);                             \
    }                                                                                     \
    void __tsan_read_write##N(void* p) { access(ADDRESS, N, kRead | kWrite, PC); }        \
    void __tsan_unaligned_read_write##N(void* p) {                                        \
        access(ADDRESS, N, kRead | kWrite | kUnaligned, PC);                              \
    }
CALLBACKS(1)
CALLBACKS(2)
CALLBACKS(4)
CALLBACKS(8)
CALLBACKS(16)

void __tsan_read_range(void* p, size_t n) { access(ADDRESS, unsigned(n), kRead, PC); }
void __tsan_write_range(void* p, size_t n) { access(ADDRESS, unsigned(n), kWrite, PC); }

// Copies of whole objects: newer compilers call the first name, others what the linker
// makes of memcpy and its like.
#define COPIED(N) (N < 8 ? kUnaligned : 0u)  // a float4 is one of 16, misaligned or not
#define COPIES(PREFIX)                                                                     \
    void* PREFIX##memcpy(void* p, const void* source, size_t n) {                         \
        access(reinterpret_cast<uintptr_t>(source), unsigned(n), kRead | COPIED(n), PC);  \
        access(ADDRESS, unsigned(n), kWrite | COPIED(n), PC);                             \
        return memcpy(p, source, n);                                                      \
    }                                                                                     \
    void* PREFIX##memmove(void* p, const void* source, size_t n) {                        \
        access(reinterpret_cast<uintptr_t>(source), unsigned(n), kRead | COPIED(n), PC);  \
        access(ADDRESS, unsigned(n), kWrite | COPIED(n), PC);                             \
        return memmove(p, source, n);                                                     \
    }                                                                                     \
    void* PREFIX##memset(void* p, int value, size_t n) {                                  \
        access(ADDRESS, unsigned(n), kWrite | COPIED(n), PC);                             \
        return memset(p, value, n);                                                       \
    }
COPIES(__tsan_)
COPIES(__wrap_)

// Each handler's first argument begins with the place in the source.
#define HANDLER(NAME)                                                                     \
    void __ubsan_handle_##NAME(const void* place) {                                       \
        if (checking && inside_kernel())                                      \
            found("undefined", #NAME, true, {0, 0, 0, 0, place});    \
    }                                                                                     \
    void __ubsan_handle_##NAME##_abort(const void* place) {                               \
        __ubsan_handle_##NAME(place);                                                     \
    }
HANDLER(add_overflow)
HANDLER(sub_overflow)
HANDLER(mul_overflow)
HANDLER(negate_overflow)
HANDLER(divrem_overflow)
HANDLER(shift_out_of_bounds)
HANDLER(out_of_bounds)
HANDLER(load_invalid_value)
HANDLER(pointer_overflow)
HANDLER(builtin_unreachable)
HANDLER(missing_return)
HANDLER(nonnull_arg)
HANDLER(nonnull_return_v1)
HANDLER(vla_bound_not_positive)
HANDLER(float_cast_overflow)
HANDLER(invalid_builtin)

// Of a type's demands only that on its address is asked for, where the accesses are split.
void __ubsan_handle_type_mismatch_v1(const void* place) {
    if (checking && inside_kernel())
        found("memcheck", "misaligned", true, {0, 0, 0, 0, place});
}
void __ubsan_handle_type_mismatch_v1_abort(const void* place) {
    __ubsan_handle_type_mismatch_v1(place);
}

}  // extern "C"
