// A tile of 32 x 32 words read by columns: every lane of a warp asks the same bank.
extern "C" __global__ void transpose_conflict(const float* __restrict__ x,
                                              float* __restrict__ y, int n) {
    __shared__ float tile[32][32];
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[row * n + column];
    __syncthreads();
    const int left = blockIdx.y * 32 + threadIdx.x;
    const int top = blockIdx.x * 32 + threadIdx.y;
    y[top * n + left] = tile[threadIdx.x][threadIdx.y];
}
