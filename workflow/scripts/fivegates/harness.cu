// Kernels of the harness itself: they hold a stream, read clocks, sweep the cache, check
// outputs, do a counted amount of work, and do nothing.

__device__ unsigned long long now_ns() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// Spins until the host sets released. Gives up after limit_ns and says so in expired:
// a stream that is never released would hang the device.
extern "C" __global__ void hold(volatile int* released, volatile int* expired,
                                unsigned long long limit_ns) {
    const unsigned long long start = now_ns();
    while (*released == 0) {
        if (now_ns() - start > limit_ns) {
            *expired = 1;
            __threadfence_system();
            return;
        }
    }
}

extern "C" __global__ void nothing() {}

template <typename T>
__device__ bool is_poison(const T& y) {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(&y);
    bool all = true;
    for (unsigned k = 0; k < sizeof(T); ++k) {
        all = all && bytes[k] == 0xff;
    }
    return all;
}

// Adds the number of elements outside |y - r| <= allowed; NaN is outside. Where r is NaN
// the element lies beside a view, and must be as it was.
template <typename T>
__device__ void count_failures(const T* y, const double* r, const double* allowed,
                               size_t n, unsigned long long* failures) {
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    unsigned long long count = 0;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        const bool right = r[i] != r[i] ? is_poison(y[i])
                                         : fabs(double(y[i]) - r[i]) <= allowed[i];
        count += !right;
    }
    if (count != 0) {
        atomicAdd(failures, count);
    }
}

// Bits that depend on all bits of a value (the finaliser of SplitMix64); -0 is 0.
__device__ unsigned long long hashed(double value) {
    unsigned long long bits = __double_as_longlong(value + 0.0);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    return bits ^ (bits >> 31);
}

// Adds one unless y has the elements of r, in any order: else the sums of their hashes
// differ. Where r is NaN see above. Launch: one block.
template <typename T>
__device__ void count_unordered(const T* y, const double* r, size_t n,
                                unsigned long long* failures) {
    __shared__ unsigned long long difference;
    if (threadIdx.x == 0) {
        difference = 0;
    }
    __syncthreads();
    unsigned long long own = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
        own += r[i] != r[i] ? !is_poison(y[i]) : hashed(double(y[i])) - hashed(r[i]);
    }
    atomicAdd(&difference, own);
    __syncthreads();
    if (threadIdx.x == 0 && difference != 0) {
        atomicAdd(failures, 1ull);
    }
}

struct Half {
    unsigned short bits;
    __device__ operator double() const {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

struct Bfloat16 {
    unsigned short bits;
    __device__ operator double() const { return __uint_as_float(unsigned(bits) << 16); }
};

#define COUNT_FAILURES(dtype, type)                                                        \
    extern "C" __global__ void count_failures_##dtype(                                     \
        const type* y, const double* r, const double* allowed, size_t n,                   \
        unsigned long long* failures) {                                                    \
        count_failures(y, r, allowed, n, failures);                                        \
    }                                                                                      \
    extern "C" __global__ void count_unordered_##dtype(                                    \
        const type* y, const double* r, const double*, size_t n,                           \
        unsigned long long* failures) {                                                    \
        count_unordered(y, r, n, failures);                                                \
    }
COUNT_FAILURES(float32, float)
COUNT_FAILURES(float16, Half)
COUNT_FAILURES(bfloat16, Bfloat16)
COUNT_FAILURES(int32, int)
COUNT_FAILURES(uint32, unsigned)

// Cycles and nanoseconds of every multiprocessor that a block lands on: out[2 * sm] and
// out[2 * sm + 1]. Two such readings give the mean clock between them.
extern "C" __global__ void read_clocks(unsigned long long* out) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[2 * sm] = clock64();
    out[2 * sm + 1] = now_ns();
}

// Reads n vectors, so that the L2 holds them and nothing older.
extern "C" __global__ void sweep(const uint4* data, size_t n, unsigned* sink) {
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    unsigned seen = 0;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        const uint4 value = data[i];
        seen |= value.x | value.y | value.z | value.w;
    }
    if (seen != 0) {
        *sink = seen;
    }
}

template <unsigned times>
__device__ float turned(float value) {
#pragma unroll
    for (unsigned k = 0; k < times; ++k) {
        value = fmaf(value, 0.999f, 0.5f);
    }
    return value;
}

// Copies x to y after counted dependent work: `shorter` turns of seven multiply-adds, then
// `longer` turns of nine. zero is 0, which the compiler does not know.
extern "C" __global__ void counted(const float* x, float* y, unsigned shorter,
                                   unsigned longer, float zero) {
    float value = float(threadIdx.x);
#pragma unroll 1
    for (unsigned k = 0; k < shorter; ++k) {
        value = turned<7>(value);
    }
#pragma unroll 1
    for (unsigned k = 0; k < longer; ++k) {
        value = turned<9>(value);
    }
    y[threadIdx.x] = fmaf(value, zero, x[threadIdx.x]);
}
