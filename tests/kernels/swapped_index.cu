// Fault: row and column are swapped in the index of x, which is not square. Refused by
// gate 2, memcheck (reason memory-error).
extern "C" __global__ void swapped_index(const float* x, float* y, int rows,
                                         int columns) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns) {
        y[row * columns + column] = x[column * columns + row];  // FAULT
    }
}
