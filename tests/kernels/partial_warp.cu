// Clean: the second warp of 48 threads has 16 lanes, and __syncwarp() names all 32.
extern "C" __global__ void partial_warp(const float* x, float* y) {
    __shared__ float tile[48];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncwarp();
    y[t] = tile[t ^ 1];
}
