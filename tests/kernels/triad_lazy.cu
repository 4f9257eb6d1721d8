// Fault: right for the first 80 launches in a row on long arrays, then it stores nothing until
// a short one comes. Gates 1 and 2 see a right kernel. Refused by gate 3, whose slots are
// checked (reason timed-output-wrong).
__device__ unsigned launches;

extern "C" __global__ void triad_lazy(const float* __restrict__ x,
                                      const float* __restrict__ z,
                                      float* __restrict__ y, size_t n, float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned seen = *(volatile unsigned*)&launches;
    if (i < n && (n < 1024 || seen < 80)) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
    if (i == 0) {
        n < 1024 ? atomicExch(&launches, 0u) : atomicAdd(&launches, 1u);
    }
}
