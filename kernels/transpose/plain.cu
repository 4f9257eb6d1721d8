// y[c, r] = x[r, c], float32: a thread an element, reads along a row, writes down a column.
// Per element: 4 bytes read, 4 bytes written. Launch: blocks of 32x8 threads over cols x rows.
extern "C" __global__ void transpose_plain(const float* __restrict__ x,
                                           float* __restrict__ y, size_t rows,
                                           size_t cols) {
    const size_t c = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t r = size_t(blockIdx.y) * blockDim.y + threadIdx.y;
    if (r >= rows || c >= cols) {
        return;
    }
    y[c * rows + r] = x[r * cols + c];
}
