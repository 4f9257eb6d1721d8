// Fault: the guard is i <= n, so one thread reads and writes one element past the end.
// Refused by gate 2, memcheck (reason memory-error).
extern "C" __global__ void inclusive_guard(const float* __restrict__ x,
                                           float* __restrict__ y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = 2.0f * x[i];  // FAULT
    }
}
