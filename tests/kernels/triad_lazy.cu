// Fault: right for the first 60 launches of its module, then it stores nothing. Gates 1
// and 2 see a right kernel. Refused by gate 3, whose slots are checked (reason
// timed-output-wrong).
__device__ unsigned launches;

extern "C" __global__ void triad_lazy(const float* __restrict__ x,
                                      const float* __restrict__ z,
                                      float* __restrict__ y, size_t n, float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const unsigned seen = *(volatile unsigned*)&launches;
    if (i < n && seen < 60) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
    if (i == 0) {
        atomicAdd(&launches, 1u);
    }
}
