// Kernels of the harness itself: they hold a stream, check outputs, and do nothing.

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

// Adds the number of elements outside |y - r| <= atol + rtol*|r|; NaN is outside.
extern "C" __global__ void count_failures(const float* y, const double* r, size_t n,
                                          double atol, double rtol,
                                          unsigned long long* failures) {
    const size_t stride = size_t(gridDim.x) * blockDim.x;
    unsigned long long count = 0;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
        count += !(fabs(double(y[i]) - r[i]) <= atol + rtol * fabs(r[i]));
    }
    if (count != 0) {
        atomicAdd(failures, count);
    }
}
