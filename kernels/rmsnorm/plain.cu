// y = x / sqrt(mean(x * x) + eps) * weight in each row, T in and out, float, __half or
// __nv_bfloat16, float32 in between: a block a row, which reads its row twice and adds its
// squares up in a tree in shared memory. eps is added and y multiplied in float32.
// Per element: 4 FLOPs, one T read at least, one T written.
// Launch: rows blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void rmsnorm_plain(const T* __restrict__ x, const T* __restrict__ weight,
                              T* __restrict__ y, size_t rows, size_t cols, float eps) {
    __shared__ float partial[256];
    const unsigned thread = threadIdx.x;
    const size_t begin = size_t(blockIdx.x) * cols;
    float squares = 0.0f;
    for (size_t c = thread; c < cols; c += blockDim.x) {
        const float value = float(x[begin + c]);
        squares += value * value;
    }
    partial[thread] = squares;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] += partial[thread + width];
        }
        __syncthreads();
    }
    const float scale = 1.0f / sqrtf(partial[0] / float(cols) + eps);
    for (size_t c = thread; c < cols; c += blockDim.x) {
        y[begin + c] = T(float(x[begin + c]) * scale * float(weight[c]));
    }
}
