// y[c, r] = x[r, c], float32 views: a block turns a 32x32 tile in shared memory, so that a
// warp writes along a row of y. The padding column spreads a column of the tile over all banks.
// Per element: 4 bytes read, 4 bytes written. Launch: ceil(cols / 32) x ceil(rows / 32)
// blocks of 32x8 threads.
extern "C" __global__ void transpose_views_tiled(const float* __restrict__ x,
                                                 float* __restrict__ y, size_t rows,
                                                 size_t cols, size_t x_pitch,
                                                 size_t x_step, size_t y_pitch) {
    __shared__ float tile[32][33];
    const size_t first_row = size_t(blockIdx.y) * 32;
    const size_t first_col = size_t(blockIdx.x) * 32;
    const size_t c = first_col + threadIdx.x;
    for (unsigned i = threadIdx.y; i < 32; i += 8) {
        if (first_row + i < rows && c < cols) {
            tile[i][threadIdx.x] = x[(first_row + i) * x_pitch + c * x_step];
        }
    }
    __syncthreads();
    const size_t r = first_row + threadIdx.x;
    for (unsigned i = threadIdx.y; i < 32; i += 8) {
        if (first_col + i < cols && r < rows) {
            y[(first_col + i) * y_pitch + r] = tile[threadIdx.x][i];
        }
    }
}
