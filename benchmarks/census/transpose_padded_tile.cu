// One word of padding a row: the lanes of a warp ask 32 different banks.
extern "C" __global__ void transpose_padded_tile(const float* __restrict__ x,
                                              float* __restrict__ y, int n) {
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[row * n + column];
    __syncthreads();
    const int left = blockIdx.y * 32 + threadIdx.x;
    const int top = blockIdx.x * 32 + threadIdx.y;
    y[top * n + left] = tile[threadIdx.x][threadIdx.y];
}
