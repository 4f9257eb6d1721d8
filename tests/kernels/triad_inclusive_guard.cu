// Fault: the guard is i <= n, so the thread with i == n reads and writes one element
// past each buffer. Refused by gate 2, memcheck (reason memory-error).
extern "C" __global__ void triad_inclusive_guard(const float* __restrict__ x,
                                                 const float* __restrict__ z,
                                                 float* __restrict__ y, size_t n,
                                                 float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
}
