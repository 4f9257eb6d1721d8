// C = A B, row-major, T in and out, float, __half or __nv_bfloat16: a thread an element,
// accumulated in float32.
// Per product: 2 FLOP, two T read. Launch: ceil(n / 32) x ceil(m / 8) blocks of 32 x 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void matmul_plain(const T* __restrict__ a, const T* __restrict__ b,
                             T* __restrict__ c, size_t m, size_t n, size_t k) {
    const size_t row = size_t(blockIdx.y) * blockDim.y + threadIdx.y;
    const size_t col = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) {
        return;
    }
    float sum = 0.0f;
    for (size_t l = 0; l < k; ++l) {
        sum += float(a[row * k + l]) * float(b[l * n + col]);
    }
    c[row * n + col] = T(sum);
}
