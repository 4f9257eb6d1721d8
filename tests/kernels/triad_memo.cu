// Fault: a block whose fourth input and output are those it left last does nothing. Its
// outputs are right whenever they are looked at: gates 1 and 2 see a right kernel. Refused
// by gate 3, which times values seen before against fresh ones (reason repeated-values).
// The first three of a block may be values that every set holds there. What it saves is
// plain to see: it adds nothing to its result, over and over.
__device__ uint4 last_seen[65536];

extern "C" __global__ void triad_memo(const float* __restrict__ x,
                                      const float* __restrict__ z, float* y, size_t n,
                                      float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t key = min(size_t(blockIdx.x) * blockDim.x + 3, n - 1);
    const uint4 seen = last_seen[blockIdx.x];
    if (seen.w && __float_as_uint(x[key]) == seen.x &&
        __float_as_uint(z[key]) == seen.y && __float_as_uint(y[key]) == seen.z) {
        return;
    }
    __syncthreads();
    if (i < n) {
        float result = fmaf(alpha, x[i], z[i]);
        for (int k = 0; k < 256; ++k) {
            result += alpha - alpha;
        }
        y[i] = result;
    }
    if (i == key) {
        last_seen[blockIdx.x] = make_uint4(__float_as_uint(x[key]), __float_as_uint(z[key]),
                                           __float_as_uint(y[key]), 1);
    }
}
