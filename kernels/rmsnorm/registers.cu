// y = x / sqrt(mean(x * x) + eps) * weight in each row, T in and out, float, __half or
// __nv_bfloat16, float32 in between: a warp a row, whose first 1024 columns stay in
// registers between the sum, by shuffles, and the output.
// All loads are under way before the first square. Columns past 1024 are read again.
// Per element: 4 FLOPs, one T read, one T written.
// Launch: ceil(rows / 4) blocks of 128 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int KEPT = 32;  // columns a lane keeps
constexpr int SUMS = 4;   // independent sums a lane

template <typename T>
__global__ void rmsnorm_registers(const T* __restrict__ x, const T* __restrict__ weight,
                                  T* __restrict__ y, size_t rows, size_t cols, float eps) {
    const unsigned lane = threadIdx.x % 32;
    const size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const T* const line = x + row * cols;
    float kept[KEPT], factor[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        kept[i] = c < cols ? float(line[c]) : 0.0f;
        factor[i] = c < cols ? float(weight[c]) : 0.0f;
    }
    float sums[SUMS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        sums[i % SUMS] += kept[i] * kept[i];
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        const float value = float(line[c]);
        sums[0] += value * value;
    }
    float squares = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int distance = 16; distance > 0; distance /= 2) {
        squares += __shfl_xor_sync(0xffffffff, squares, distance);
    }
    const float scale = 1.0f / sqrtf(squares / float(cols) + eps);
    T* const out = y + row * cols;
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        if (c < cols) {
            out[c] = T(kept[i] * scale * factor[i]);
        }
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        out[c] = T(float(line[c]) * scale * float(weight[c]));
    }
}
