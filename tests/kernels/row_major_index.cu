// Clean: twin of swapped_index.cu, row by row.
extern "C" __global__ void row_major_index(const float* x, float* y, int rows,
                                           int columns) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns) {
        y[row * columns + column] = x[row * columns + column];
    }
}
