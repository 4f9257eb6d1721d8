// y[c, r] = x[r, c], float32 views: a thread an element, reads along a row of x.
// Per element: 4 bytes read, 4 bytes written. Launch: blocks of 32x8 threads over cols x rows.
extern "C" __global__ void transpose_views_plain(const float* __restrict__ x,
                                                 float* __restrict__ y, size_t rows,
                                                 size_t cols, size_t x_pitch,
                                                 size_t x_step, size_t y_pitch) {
    const size_t c = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t r = size_t(blockIdx.y) * blockDim.y + threadIdx.y;
    if (r >= rows || c >= cols) {
        return;
    }
    y[c * y_pitch + r] = x[r * x_pitch + c * x_step];
}
