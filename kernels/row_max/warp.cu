// y[r] = max(x[r, c]), float32, NaN where a row holds one: a warp a row, sixteen loads of a lane
// in flight, then shuffles: no shared memory and no barrier.
// Per element: 1 comparison, 4 bytes read. Launch: ceil(rows / 8) blocks of 256 threads.

// fmaxf would drop a NaN; this keeps it from either side.
__device__ float larger(float a, float b) {
    return a > b || a != a ? a : b;
}

extern "C" __global__ void row_max_warp(const float* __restrict__ x, float* __restrict__ y,
                                        size_t rows, size_t cols) {
    const unsigned lane = threadIdx.x % 32;
    const size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const float* const line = x + row * cols;
    const float lowest = -__int_as_float(0x7f800000);
    float best[4] = {lowest, lowest, lowest, lowest};
    for (size_t start = lane; start < cols; start += 512) {
        float loaded[16];
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const size_t c = start + 32 * k;
            loaded[k] = c < cols ? line[c] : lowest;
        }
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            best[k % 4] = larger(best[k % 4], loaded[k]);
        }
    }
    float largest = larger(larger(best[0], best[1]), larger(best[2], best[3]));
    for (int distance = 16; distance > 0; distance /= 2) {
        largest = larger(largest, __shfl_down_sync(0xffffffff, largest, distance));
    }
    if (lane == 0) {
        y[row] = largest;
    }
}
