// y[i] = fma(alpha, x[i], z[i]), float32: one element a thread.
// Per element: 2 FLOPs, 8 bytes read, 4 bytes written.
// Launch: ceil(n / 256) blocks of 256 threads; threads with i >= n do nothing.
extern "C" __global__ void triad_scalar(const float* __restrict__ x,
                                        const float* __restrict__ z,
                                        float* __restrict__ y, size_t n, float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
}
