// Clean: a union in shared memory, by its braces no simple declaration.
extern "C" __global__ void union_in_shared(const float* x, int* y) {
    __shared__ union {
        float values[64];
        int bits[64];
    } tile;
    const unsigned t = threadIdx.x;
    tile.values[t] = x[t];
    __syncthreads();
    y[t] = tile.bits[63 - t];
}
