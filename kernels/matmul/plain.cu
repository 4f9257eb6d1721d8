// C = A B, float32, row-major: a thread an element, straight from global memory.
// Per product: 2 FLOP, 8 bytes read. Launch: ceil(n / 32) x ceil(m / 8) blocks of 32 x 8.
extern "C" __global__ void matmul_plain(const float* __restrict__ a,
                                        const float* __restrict__ b,
                                        float* __restrict__ c, size_t m, size_t n,
                                        size_t k) {
    const size_t row = size_t(blockIdx.y) * blockDim.y + threadIdx.y;
    const size_t col = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) {
        return;
    }
    float sum = 0.0f;
    for (size_t l = 0; l < k; ++l) {
        sum += a[row * k + l] * b[l * n + col];
    }
    c[row * n + col] = sum;
}
