// Clean: twin of half_written_tile.cu; each thread writes two elements.
extern "C" __global__ void whole_tile(const float* x, float* y) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    tile[t + 64] = x[t + 64];
    __syncthreads();
    y[t] = tile[127 - t] + tile[t];
}
