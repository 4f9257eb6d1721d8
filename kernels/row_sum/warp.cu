// y[r] = sum(x[r, c]), T in and out, float, __half or __nv_bfloat16, accumulated in float32:
// a warp a row, four sums a lane, then shuffles.
// Per element: 1 FLOP, one T read. Launch: ceil(rows / 8) blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void row_sum_warp(const T* __restrict__ x, T* __restrict__ y, size_t rows,
                             size_t cols) {
    const unsigned lane = threadIdx.x % 32;
    const size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const T* const line = x + row * cols;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const size_t whole = cols / 128 * 128;
    for (size_t c = lane; c < whole; c += 128) {
        sums[0] += float(line[c]);
        sums[1] += float(line[c + 32]);
        sums[2] += float(line[c + 64]);
        sums[3] += float(line[c + 96]);
    }
    for (size_t c = whole + lane; c < cols; c += 32) {
        sums[0] += float(line[c]);
    }
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    }
    if (lane == 0) {
        y[row] = T(sum);
    }
}
