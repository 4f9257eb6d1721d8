// Fault: every second launch stores nothing; on equal values nobody sees it in a block.
// Refused by gate 3, which changes values and checks single launches (timed-output-wrong).
__device__ unsigned launches;

extern "C" __global__ void triad_counting(const float* __restrict__ x,
                                          const float* __restrict__ z,
                                          float* __restrict__ y, size_t n,
                                          float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned seen = *(volatile unsigned*)&launches;
    if (i < n && seen % 2 == 0) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
    if (i == 0) {
        atomicAdd(&launches, 1u);
    }
}
