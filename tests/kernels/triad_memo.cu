// Fault: a block whose first input and output are those it left last does nothing. Its
// outputs are right whenever they are looked at: gates 1 and 2 see a right kernel. Refused
// by gate 3, which times values seen before against fresh ones (reason repeated-values).
__device__ uint4 last_seen[65536];

extern "C" __global__ void triad_memo(const float* __restrict__ x,
                                      const float* __restrict__ z, float* y, size_t n,
                                      float alpha) {
    const size_t first = size_t(blockIdx.x) * blockDim.x;
    const size_t i = first + threadIdx.x;
    const uint4 seen = last_seen[blockIdx.x];
    if (seen.w && __float_as_uint(x[first]) == seen.x &&
        __float_as_uint(z[first]) == seen.y && __float_as_uint(y[first]) == seen.z) {
        return;
    }
    __syncthreads();
    if (i < n) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
    if (threadIdx.x == 0) {
        last_seen[blockIdx.x] = make_uint4(__float_as_uint(x[first]),
                                           __float_as_uint(z[first]),
                                           __float_as_uint(y[first]), 1);
    }
}
