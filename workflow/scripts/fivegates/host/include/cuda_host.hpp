// The part of CUDA C++ that the host executes, included before a kernel source.
// Declares what it needs of the C library itself: <cmath> would cost more to compile than
// most kernels. Whatever reads or writes memory for a kernel is a macro, so that findings
// carry the kernel's line.
#pragma once

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "warp_operations.h"

#if defined(FIVEGATES_CUDA_HEADERS)
// NVIDIA's own host versions of vector, half and bfloat16 types.
#include <cmath>
#include <vector_functions.h>
#include <vector_types.h>
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __restrict__
#undef __shared__
#undef __constant__
#undef __align__
#undef __grid_constant__
#endif

#define __global__ __attribute__((noinline, flatten))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__  // libstdc++ spells the attribute with this name
#define __launch_bounds__(...)
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#define __grid_constant__
// Blocks run one after another on one stack of memory: a static is a block's own. One that
// no thread sets would be zero to the compiler; `used` says that somebody else may set it.
#define __shared__ static __attribute__((used))

#if !defined(FIVEGATES_CUDA_HEADERS)
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
FIVEGATES_VECTOR(signed char, char)
FIVEGATES_VECTOR(unsigned char, uchar)
FIVEGATES_VECTOR(short, short)
FIVEGATES_VECTOR(unsigned short, ushort)
FIVEGATES_VECTOR(int, int)
FIVEGATES_VECTOR(unsigned, uint)
FIVEGATES_VECTOR(long long, longlong)
FIVEGATES_VECTOR(unsigned long long, ulonglong)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#define FIVEGATES_UNARY(NAME)          \
    extern "C" float NAME##f(float);   \
    extern "C" double NAME(double);    \
    inline float NAME(float x) { return NAME##f(x); }
#define FIVEGATES_BINARY(NAME)                \
    extern "C" float NAME##f(float, float);   \
    extern "C" double NAME(double, double);   \
    inline float NAME(float x, float y) { return NAME##f(x, y); }

FIVEGATES_UNARY(sqrt)
FIVEGATES_UNARY(cbrt)
FIVEGATES_UNARY(exp)
FIVEGATES_UNARY(exp2)
FIVEGATES_UNARY(exp10)
FIVEGATES_UNARY(expm1)
FIVEGATES_UNARY(log)
FIVEGATES_UNARY(log2)
FIVEGATES_UNARY(log10)
FIVEGATES_UNARY(log1p)
FIVEGATES_UNARY(sin)
FIVEGATES_UNARY(cos)
FIVEGATES_UNARY(tan)
FIVEGATES_UNARY(asin)
FIVEGATES_UNARY(acos)
FIVEGATES_UNARY(atan)
FIVEGATES_UNARY(sinh)
FIVEGATES_UNARY(cosh)
FIVEGATES_UNARY(tanh)
FIVEGATES_UNARY(asinh)
FIVEGATES_UNARY(acosh)
FIVEGATES_UNARY(atanh)
FIVEGATES_UNARY(erf)
FIVEGATES_UNARY(erfc)
FIVEGATES_UNARY(tgamma)
FIVEGATES_UNARY(lgamma)
FIVEGATES_UNARY(fabs)
FIVEGATES_UNARY(floor)
FIVEGATES_UNARY(ceil)
FIVEGATES_UNARY(trunc)
FIVEGATES_UNARY(round)
FIVEGATES_UNARY(rint)
FIVEGATES_UNARY(nearbyint)
FIVEGATES_BINARY(pow)
FIVEGATES_BINARY(fmod)
FIVEGATES_BINARY(remainder)
FIVEGATES_BINARY(hypot)
FIVEGATES_BINARY(atan2)
FIVEGATES_BINARY(copysign)
FIVEGATES_BINARY(nextafter)
FIVEGATES_BINARY(fdim)
FIVEGATES_BINARY(fmin)
FIVEGATES_BINARY(fmax)
extern "C" float fmaf(float, float, float);
extern "C" double fma(double, double, double);
extern "C" float ldexpf(float, int);
extern "C" double ldexp(double, int);
extern "C" void sincosf(float, float*, float*);
extern "C" void sincos(double, double*, double*);
extern "C" void* memcpy(void*, const void*, size_t);
extern "C" void* memset(void*, int, size_t);
extern "C" void* memmove(void*, const void*, size_t);
inline float fma(float a, float b, float c) { return fmaf(a, b, c); }
inline float ldexp(float x, int n) { return ldexpf(x, n); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#endif

// Written by the runtime before each thread, constant while that thread runs. All are
// uint3: a compiler does not take a class with a constructor for constant.
extern "C" const uint3 fivegates_index[4];
#define threadIdx fivegates_index[0]
#define blockIdx fivegates_index[1]
#define blockDim fivegates_index[2]
#define gridDim fivegates_index[3]
constexpr int warpSize = 32;

// ---- what threads do together -----------------------------------------------------------

extern "C" {
void fivegates_barrier(int site, int line);
int fivegates_barrier_reduce(int predicate, int operation, int site, int line);
uint64_t fivegates_warp(unsigned mask, int operation, uint64_t value, int argument,
                        int width, int line);
void fivegates_fence(int scope);
void fivegates_atomic(const void* address, int size, const void* pc);
void fivegates_copy(void* target, const void* source, size_t size, const void* pc);
int fivegates_print(const char* format, ...);
[[noreturn]] void fivegates_trap();
long long fivegates_clock();
}

// Every barrier carries its number and line: a compiler may merge two calls into one, or
// make two of one.
#define __syncthreads() fivegates_barrier(__COUNTER__, __LINE__)
#define FIVEGATES_REDUCE(P, OPERATION) \
    fivegates_barrier_reduce((P) != 0, OPERATION, __COUNTER__, __LINE__)
#define __syncthreads_count(p) FIVEGATES_REDUCE(p, 0)
#define __syncthreads_and(p) FIVEGATES_REDUCE(p, 1)
#define __syncthreads_or(p) FIVEGATES_REDUCE(p, 2)
#define __threadfence_block() fivegates_fence(0)
#define __threadfence() fivegates_fence(1)
#define __threadfence_system() fivegates_fence(2)

template <class To, class From>
inline __attribute__((always_inline)) To fivegates_bits(From from) {
    static_assert(sizeof(From) <= 8 && sizeof(To) <= 8, "at most 8 bytes");
    To to = To();
    __builtin_memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
    return to;
}

// `line` is the caller's, by default the line of the call.
#define FIVEGATES_INLINE inline __attribute__((always_inline))
#define FIVEGATES_LINE int line = __builtin_LINE()
FIVEGATES_INLINE void __syncwarp(unsigned mask = 0xffffffffu, FIVEGATES_LINE) {
    fivegates_warp(mask, kWarpSync, 0, 0, 32, line);
}
#define FIVEGATES_SHUFFLE(NAME, OPERATION, TYPE)                                       \
    template <class T>                                                               \
    FIVEGATES_INLINE T NAME(unsigned mask, T value, TYPE lane, int width = 32,       \
                            FIVEGATES_LINE) {                                        \
        const uint64_t given = fivegates_bits<uint64_t>(value);                      \
        return fivegates_bits<T>(                                                    \
            fivegates_warp(mask, OPERATION, given, int(lane), width, line));         \
    }
FIVEGATES_SHUFFLE(__shfl_sync, kShuffleIndex, int)
FIVEGATES_SHUFFLE(__shfl_up_sync, kShuffleUp, unsigned)
FIVEGATES_SHUFFLE(__shfl_down_sync, kShuffleDown, unsigned)
FIVEGATES_SHUFFLE(__shfl_xor_sync, kShuffleXor, int)
FIVEGATES_INLINE int __any_sync(unsigned mask, int predicate, FIVEGATES_LINE) {
    return int(fivegates_warp(mask, kVoteAny, predicate != 0, 0, 32, line));
}
FIVEGATES_INLINE int __all_sync(unsigned mask, int predicate, FIVEGATES_LINE) {
    return int(fivegates_warp(mask, kVoteAll, predicate != 0, 0, 32, line));
}
FIVEGATES_INLINE unsigned __ballot_sync(unsigned mask, int predicate, FIVEGATES_LINE) {
    return unsigned(fivegates_warp(mask, kVoteBallot, predicate != 0, 0, 32, line));
}
template <class T>
FIVEGATES_INLINE unsigned __match_any_sync(unsigned mask, T value, FIVEGATES_LINE) {
    const uint64_t given = fivegates_bits<uint64_t>(value);
    return unsigned(fivegates_warp(mask, kMatchAny, given, 0, 32, line));
}
FIVEGATES_INLINE unsigned __activemask(FIVEGATES_LINE) {
    return unsigned(fivegates_warp(0, kActiveMask, 0, 0, 32, line));
}
FIVEGATES_INLINE void __nanosleep(unsigned) { fivegates_warp(0, kYield, 0, 0, 32, 0); }
#define __trap() fivegates_trap()
#define printf(...) fivegates_print(__VA_ARGS__)
#define clock64() fivegates_clock()
#define clock() fivegates_clock()

// One operating-system thread runs all: a plain update is atomic.
#define FIVEGATES_RAW \
    __attribute__((noinline, no_sanitize("thread", "undefined", "address")))
#define FIVEGATES_ATOMIC(NAME, UPDATED)                                              \
    template <class T, class U>                                                      \
    FIVEGATES_RAW T NAME(T* address, U operand) {                                    \
        fivegates_atomic(address, sizeof(T), __builtin_return_address(0));           \
        const T old = *address, value = T(operand);                                  \
        *address = UPDATED;                                                          \
        return old;                                                                  \
    }
FIVEGATES_ATOMIC(atomicAdd, T(old + value))
FIVEGATES_ATOMIC(atomicSub, T(old - value))
FIVEGATES_ATOMIC(atomicExch, value)
FIVEGATES_ATOMIC(atomicMin, value < old ? value : old)
FIVEGATES_ATOMIC(atomicMax, old < value ? value : old)
FIVEGATES_ATOMIC(atomicAnd, T(old & value))
FIVEGATES_ATOMIC(atomicOr, T(old | value))
FIVEGATES_ATOMIC(atomicXor, T(old ^ value))
FIVEGATES_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
FIVEGATES_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))
template <class T, class U, class V>
FIVEGATES_RAW T atomicCAS(T* address, U compare, V operand) {
    fivegates_atomic(address, sizeof(T), __builtin_return_address(0));
    const T old = *address;
    if (old == T(compare)) *address = T(operand);
    return old;
}
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicCAS_block atomicCAS
#define atomicCAS_system atomicCAS

// ---- arithmetic ---------------------------------------------------------------------------

template <class A, class B>
inline decltype(true ? A() : B()) min(A a, B b) {
    return b < a ? b : a;
}
template <class A, class B>
inline decltype(true ? A() : B()) max(A a, B b) {
    return a < b ? b : a;
}
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float __saturatef(float x) { return x > 0.0f ? fminf(x, 1.0f) : 0.0f; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdiv_rn(float a, float b) { return a / b; }
// Never contracted, whatever the setting: on the device these are single instructions.
inline float __fmul_rn(float a, float b) { return fmaf(a, b, -0.0f); }
inline float __fadd_rn(float a, float b) { return fmaf(a, 1.0f, b); }
inline float __fsub_rn(float a, float b) { return fmaf(a, 1.0f, -b); }

// Fast intrinsics: the algebra of the device, not its bits. glibc has some of the names.
#define __expf(x) exp2f(float(x) * 1.44269504088896340736f)
#define __exp10f(x) exp2f(float(x) * 3.32192809488736234787f)
#define __logf(x) (log2f(x) * 0.693147180559945309417f)
#define __log2f(x) log2f(x)
#define __log10f(x) (log2f(x) * 0.301029995663981195214f)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) exp2f((y) * log2f(x))
#define __fdividef(a, b) (float(a) / float(b))
#define __frsqrt_rn(x) rsqrtf(x)

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
    return reversed;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return uint64_t(a) * b >> 32; }
inline int __mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline int __float_as_int(float x) { return fivegates_bits<int>(x); }
inline float __int_as_float(int x) { return fivegates_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return fivegates_bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return fivegates_bits<float>(x); }
inline long long __double_as_longlong(double x) { return fivegates_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return fivegates_bits<double>(x); }
inline int __float2int_rn(float x) { return int(nearbyintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline int __float2int_rd(float x) { return int(floorf(x)); }
inline int __float2int_ru(float x) { return int(ceilf(x)); }
inline float __int2float_rn(int x) { return float(x); }

// Cache hints change no value.
#define __ldg(p) (*(p))
#define __ldca(p) (*(p))
#define __ldcg(p) (*(p))
#define __ldcs(p) (*(p))
#define __ldlu(p) (*(p))
#define __ldcv(p) (*(p))
#define __stwb(p, v) ((void)(*(p) = (v)))
#define __stcg(p, v) ((void)(*(p) = (v)))
#define __stcs(p, v) ((void)(*(p) = (v)))
#define __stwt(p, v) ((void)(*(p) = (v)))

// ---- the kernel's entry -------------------------------------------------------------------

template <unsigned... I>
struct FivegatesIndices {};
template <unsigned N, unsigned... I>
struct FivegatesCount : FivegatesCount<N - 1, N - 1, I...> {};
template <unsigned... I>
struct FivegatesCount<0, I...> {
    using type = FivegatesIndices<I...>;
};

// Unpacks the parameters of a kernel as cuLaunchKernel does: one pointer a parameter.
template <class... A>
struct FivegatesKernel {
    static constexpr int sizes[] = {int(sizeof(A))..., 0};
    template <unsigned... I>
    FIVEGATES_RAW static void call(void (*kernel)(A...), void** arguments,
                                   FivegatesIndices<I...>) {
        kernel(*static_cast<A*>(arguments[I])...);
    }
};
template <class... A>
FIVEGATES_RAW void fivegates_call(void (*kernel)(A...), void** arguments) {
    FivegatesKernel<A...>::call(kernel, arguments,
                                typename FivegatesCount<sizeof...(A)>::type());
}
template <class... A>
constexpr const int* fivegates_sizes(void (*)(A...)) {
    return FivegatesKernel<A...>::sizes;
}

// Appended once after the kernel source, with the entry of the arm.
#define FIVEGATES_KERNEL(...)                                                        \
    extern "C" FIVEGATES_RAW void fivegates_thread(void** arguments) {               \
        fivegates_call(__VA_ARGS__, arguments);                                      \
    }                                                                                \
    extern "C" const int* fivegates_parameters() { return fivegates_sizes(__VA_ARGS__); }
