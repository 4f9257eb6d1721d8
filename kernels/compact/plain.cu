// y = the x[i] > 0 in any order, float32: each kept element takes the next place of a counter.
// Counters are 0 before every launch: the block that arrives last leaves them so. Two launches
// of one module must therefore not run at the same time.
// Per element: 4 bytes read. Launch: ceil(n / 256) blocks of 256 threads.
__device__ unsigned taken;
__device__ unsigned arrivals;

extern "C" __global__ void compact_plain(const float* __restrict__ x, float* __restrict__ y,
                                         size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) {
        y[atomicAdd(&taken, 1u)] = x[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&arrivals, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            atomicExch(&taken, 0u);
        }
    }
}
