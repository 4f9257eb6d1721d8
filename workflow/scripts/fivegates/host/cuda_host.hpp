// The part of CUDA C++ that this backend executes, included before a kernel source.
// Threads of a block run one after another, so nothing that makes them meet is here:
// barriers, shuffles, votes and shared memory are refused before the compiler sees them.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__
#define __align__(n) alignas(n)

#define FIVEGATES_VECTOR(T, NAME)                                                    \
    struct alignas(2 * sizeof(T)) NAME##2 {                                          \
        T x, y;                                                                      \
    };                                                                               \
    struct NAME##3 {                                                                 \
        T x, y, z;                                                                   \
    };                                                                               \
    struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) NAME##4 {                     \
        T x, y, z, w;                                                                \
    };                                                                               \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                       \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }               \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

FIVEGATES_VECTOR(float, float)
FIVEGATES_VECTOR(double, double)
FIVEGATES_VECTOR(int, int)
FIVEGATES_VECTOR(unsigned, uint)
FIVEGATES_VECTOR(long long, longlong)
FIVEGATES_VECTOR(unsigned long long, ulonglong)

struct dim3 {
    unsigned x, y, z;
};

// Written by the runner before each thread.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

template <class A, class B>
inline std::common_type_t<A, B> min(A a, B b) {
    return b < a ? b : a;
}

template <class A, class B>
inline std::common_type_t<A, B> max(A a, B b) {
    return a < b ? b : a;
}

inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }

// Cache hints change no value.
#define FIVEGATES_LOAD(NAME)          \
    template <class T>                \
    inline T NAME(const T* p) {       \
        return *p;                    \
    }
#define FIVEGATES_STORE(NAME)         \
    template <class T>                \
    inline void NAME(T* p, T value) { \
        *p = value;                   \
    }

FIVEGATES_LOAD(__ldg)
FIVEGATES_LOAD(__ldca)
FIVEGATES_LOAD(__ldcg)
FIVEGATES_LOAD(__ldcs)
FIVEGATES_STORE(__stcg)
FIVEGATES_STORE(__stcs)

// Unpacks the parameters of a kernel as cuLaunchKernel does: one pointer a parameter.
template <class... A, size_t... I>
__attribute__((no_sanitize("address", "undefined"))) inline void fivegates_call(
    void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<A>*>(arguments[I])...);
}

template <class... A>
__attribute__((no_sanitize("address", "undefined"))) inline void fivegates_call(
    void (*kernel)(A...), void** arguments) {
    fivegates_call(kernel, arguments, std::index_sequence_for<A...>{});
}

// Sizes of the parameters of a kernel, closed by a 0.
template <class... A>
inline const int* fivegates_sizes(void (*)(A...)) {
    static const int sizes[] = {int(sizeof(A))..., 0};
    return sizes;
}

// Appended once after the kernel source, with the entry of the arm.
#define FIVEGATES_KERNEL(...)                                                        \
    void fivegates_thread(void** arguments) {                                        \
        fivegates_call(__VA_ARGS__, arguments);                                      \
    }                                                                                \
    const int* fivegates_parameters() { return fivegates_sizes(__VA_ARGS__); }
