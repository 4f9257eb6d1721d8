// count[b] = number of i with x[i] == b, bins <= 1024: each block counts four elements a
// thread in shared memory and adds what it found to totals of the module; the block that
// arrives last moves the totals to the output.
// Totals and arrivals are 0 before every launch: the last block leaves them so. Two launches
// of one module must therefore not run at the same time.
// Per element: 4 bytes read. Launch: max(1, ceil(n / 4096)) blocks of 1024 threads.
__device__ unsigned totals[1024];
__device__ unsigned arrivals;

extern "C" __global__ void histogram_shared(const int* __restrict__ x,
                                            unsigned* __restrict__ count, size_t n,
                                            size_t bins) {
    __shared__ unsigned local[1024];
    __shared__ bool last;
    const unsigned thread = threadIdx.x;
    if (thread < bins) {
        local[thread] = 0;
    }
    __syncthreads();

    const size_t i = size_t(blockIdx.x) * blockDim.x + thread;
    if (i < n / 4) {
        const int4 four = reinterpret_cast<const int4*>(x)[i];
        atomicAdd(&local[four.x], 1u);
        atomicAdd(&local[four.y], 1u);
        atomicAdd(&local[four.z], 1u);
        atomicAdd(&local[four.w], 1u);
    }
    if (blockIdx.x == 0 && thread < n % 4) {
        atomicAdd(&local[x[n / 4 * 4 + thread]], 1u);
    }
    __syncthreads();

    if (thread < bins && local[thread] != 0) {
        atomicAdd(&totals[thread], local[thread]);
    }
    __syncthreads();
    if (thread == 0) {
        __threadfence();
        last = atomicInc(&arrivals, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && thread < bins) {
        count[thread] = totals[thread];
        totals[thread] = 0;
    }
}
