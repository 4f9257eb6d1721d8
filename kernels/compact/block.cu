// y = the x[i] > 0 in any order, float32: a thread looks at four elements, warps count by
// ballot, and a block takes places for all of its 4096 at once.
// Counters are 0 before every launch: the block that arrives last leaves them so. Two launches
// of one module must therefore not run at the same time.
// Per element: 4 bytes read. Launch: ceil(n / 4096) blocks of 1024 threads.
__device__ unsigned taken;
__device__ unsigned arrivals;

extern "C" __global__ void __launch_bounds__(1024)
    compact_block(const float* __restrict__ x, float* __restrict__ y, size_t n) {
    __shared__ unsigned count[32];
    __shared__ unsigned first[32];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const size_t begin = size_t(blockIdx.x) * 4096 + warp * 128 + lane;
    float value[4];
    unsigned kept[4];
    unsigned total = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
        const size_t i = begin + 32 * k;
        value[k] = i < n ? x[i] : 0.0f;
        kept[k] = __ballot_sync(0xffffffff, value[k] > 0.0f);
        total += __popc(kept[k]);
    }
    if (lane == 0) {
        count[warp] = total;
    }
    __syncthreads();
    if (warp == 0) {
        const unsigned own = count[lane];
        unsigned sum = own;
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const unsigned before = __shfl_up_sync(0xffffffff, sum, distance);
            sum += lane >= distance ? before : 0u;
        }
        unsigned start = lane == 31 ? atomicAdd(&taken, sum) : 0u;
        start = __shfl_sync(0xffffffff, start, 31);
        first[lane] = start + sum - own;
    }
    __syncthreads();
    size_t place = first[warp];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
        if (value[k] > 0.0f) {
            y[place + __popc(kept[k] & ((1u << lane) - 1))] = value[k];
        }
        place += __popc(kept[k]);
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&arrivals, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            atomicExch(&taken, 0u);
        }
    }
}
