// Clean: twin of last_block_unfenced.cu, with __threadfence() on both sides of the
// ticket, and a barrier between the thread that draws it and the threads that read.
extern "C" __global__ void last_block_fenced(const float* x, float* partial,
                                             unsigned* ticket, float* y) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (unsigned k = 0; k < 64; ++k) {
            sum += x[blockIdx.x * 64 + k];
        }
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 32) {
        float total = 0.0f;
        for (unsigned block = 0; block < gridDim.x; ++block) {
            total += partial[block];
        }
        y[0] = total;
    }
}
