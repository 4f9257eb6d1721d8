// count[b] = number of i with x[i] == b, bins <= 1024: one block counts all in shared memory.
// Per element: 4 bytes read. Launch: 1 block of 1024 threads.
extern "C" __global__ void histogram_plain(const int* __restrict__ x,
                                           unsigned* __restrict__ count, size_t n,
                                           size_t bins) {
    __shared__ unsigned local[1024];
    const unsigned thread = threadIdx.x;
    if (thread < bins) {
        local[thread] = 0;
    }
    __syncthreads();
    for (size_t i = thread; i < n; i += blockDim.x) {
        atomicAdd(&local[x[i]], 1u);
    }
    __syncthreads();
    if (thread < bins) {
        count[thread] = local[thread];
    }
}
