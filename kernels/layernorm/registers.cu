// y = (x - mean) / sqrt(var + eps) * weight + bias in each row, float32: a warp a row, whose
// first 1024 columns stay in registers through mean, variance and output; sums by shuffles.
// All loads are under way before the first sum. Columns past 1024 are read again.
// Per element: 8 FLOPs, 4 bytes read, 4 bytes written.
// Launch: ceil(rows / 4) blocks of 128 threads.
constexpr int KEPT = 32;  // columns a lane keeps
constexpr int SUMS = 4;   // independent sums a lane

static __device__ float warp_sum(const float (&sums)[SUMS]) {
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    return sum;
}

extern "C" __global__ void layernorm_registers(const float* __restrict__ x,
                                               const float* __restrict__ weight,
                                               const float* __restrict__ bias,
                                               float* __restrict__ y, size_t rows,
                                               size_t cols, float eps) {
    const unsigned lane = threadIdx.x % 32;
    const size_t row = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    const float* const line = x + row * cols;
    float kept[KEPT], factor[KEPT], offset[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        const bool inside = c < cols;
        kept[i] = inside ? line[c] : 0.0f;
        factor[i] = inside ? weight[c] : 0.0f;
        offset[i] = inside ? bias[c] : 0.0f;
    }
    float sums[SUMS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        sums[i % SUMS] += kept[i];
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        sums[0] += line[c];
    }
    const float mean = warp_sum(sums) / float(cols);
    float squares[SUMS] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const float difference = lane + 32 * i < cols ? kept[i] - mean : 0.0f;
        squares[i % SUMS] += difference * difference;
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        const float difference = line[c] - mean;
        squares[0] += difference * difference;
    }
    const float scale = 1.0f / sqrtf(warp_sum(squares) / float(cols) + eps);
    float* const out = y + row * cols;
#pragma unroll
    for (int i = 0; i < KEPT; ++i) {
        const size_t c = lane + 32 * i;
        if (c < cols) {
            out[c] = (kept[i] - mean) * scale * factor[i] + offset[i];
        }
    }
    for (size_t c = 32 * KEPT + lane; c < cols; c += 32) {
        out[c] = (line[c] - mean) * scale * weight[c] + bias[c];
    }
}
