// Clean: a transpose through a padded tile; neither side is a multiple of the tile.
extern "C" __global__ void transpose_padded(const float* x, float* y, int rows,
                                            int columns) {
    __shared__ float tile[16][17];
    int row = blockIdx.y * 16 + threadIdx.y;
    int column = blockIdx.x * 16 + threadIdx.x;
    if (row < rows && column < columns) {
        tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    }
    __syncthreads();
    row = blockIdx.y * 16 + threadIdx.x;
    column = blockIdx.x * 16 + threadIdx.y;
    if (row < rows && column < columns) {
        y[column * rows + row] = tile[threadIdx.x][threadIdx.y];
    }
}
