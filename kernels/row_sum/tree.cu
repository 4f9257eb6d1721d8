// y[r] = sum(x[r, c]), T in and out, float, __half or __nv_bfloat16, accumulated in float32:
// a block a row, a tree in shared memory.
// Per element: 1 FLOP, one T read. Launch: rows blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__global__ void row_sum_tree(const T* __restrict__ x, T* __restrict__ y, size_t rows,
                             size_t cols) {
    __shared__ float partial[256];
    const size_t row = blockIdx.x;
    const unsigned thread = threadIdx.x;
    float sum = 0.0f;
    for (size_t c = thread; c < cols; c += blockDim.x) {
        sum += float(x[row * cols + c]);
    }
    partial[thread] = sum;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] += partial[thread + width];
        }
        __syncthreads();
    }
    if (thread == 0) {
        y[row] = T(partial[0]);
    }
}
