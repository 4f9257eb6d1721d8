// Clean: blocks and grid of three dimensions; x runs fastest.
extern "C" __global__ void block_3d(const float* x, float* y, int depth, int height,
                                    int width) {
    __shared__ float tile[2][3][8];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int plane = blockIdx.z * blockDim.z + threadIdx.z;
    const int i = (plane * height + row) * width + column;
    const bool inside = plane < depth && row < height && column < width;
    tile[threadIdx.z][threadIdx.y][threadIdx.x] = inside ? x[i] : 0.0f;
    __syncthreads();
    if (inside) {
        y[i] = tile[threadIdx.z][threadIdx.y][threadIdx.x] +
               tile[threadIdx.z][threadIdx.y][0];
    }
}
