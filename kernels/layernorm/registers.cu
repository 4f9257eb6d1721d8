// y = (x - mean) / sqrt(var + eps) * weight + bias in each row, T in and out, float, __half or
// __nv_bfloat16, float32 in between: a warp a row, whose first 1024 columns stay in
// registers through mean, variance and output; sums by shuffles. eps is added in float32.
// All loads are under way before the first sum. Columns past 1024 are read again.
// Per element: 8 FLOPs, one T read, one T written.
// Launch: ceil(rows / 4) blocks of 128 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int KEPT = 32;  // columns a lane keeps
constexpr int SUMS = 4;   // independent sums a lane

static __device__ float warp_sum(const float (&sums)[SUMS]) {
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    return sum;
}

template <typename T>
__global__ void layernorm_registers(const T* __restrict__ x, const T* __restrict__ weight,
                                    const T* __restrict__ bias, T* __restrict__ y,
                                    size_t rows, size_t cols, float eps) {
    const unsigned lane = threadIdx.x % 32;
    const size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const T* const line = x + row * cols;
    float kept[KEPT], factor[KEPT], offset[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        const bool inside = c < cols;
        kept[i] = inside ? float(line[c]) : 0.0f;
        factor[i] = inside ? float(weight[c]) : 0.0f;
        offset[i] = inside ? float(bias[c]) : 0.0f;
    }
    float sums[SUMS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        sums[i % SUMS] += kept[i];
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        sums[0] += float(line[c]);
    }
    const float mean = warp_sum(sums) / float(cols);
    float squares[SUMS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const float difference = lane + 32 * i < cols ? kept[i] - mean : 0.0f;
        squares[i % SUMS] += difference * difference;
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        const float difference = float(line[c]) - mean;
        squares[0] += difference * difference;
    }
    const float scale = 1.0f / sqrtf(warp_sum(squares) / float(cols) + eps);
    T* const out = y + row * cols;
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        if (c < cols) {
            out[c] = T((kept[i] - mean) * scale * factor[i] + offset[i]);
        }
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        const float normal = (float(line[c]) - mean) * scale;
        out[c] = T(normal * float(weight[c]) + float(bias[c]));
    }
}
