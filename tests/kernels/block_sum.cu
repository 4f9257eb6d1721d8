// Clean: twin of block_sum_unsynced.cu, with the barrier.
extern "C" __global__ void block_sum(const float* x, float* y) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    tile[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (unsigned offset = 64; offset > 0; offset /= 2) {
        if (t < offset) {
            tile[t] += tile[t + offset];
        }
        __syncthreads();
    }
    if (t == 0) {
        y[blockIdx.x] = tile[0];
    }
}
