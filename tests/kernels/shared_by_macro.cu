// Clean: shared memory that a macro declares is a block's own too.
#define SHARED(TYPE, NAME, COUNT) __shared__ TYPE NAME[COUNT]

extern "C" __global__ void shared_by_macro(const float* x, float* y) {
    SHARED(float, tile, 64);
    const unsigned t = threadIdx.x;
    tile[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    y[blockIdx.x * 64 + t] = tile[63 - t];
}
