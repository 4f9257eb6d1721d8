// y[r, c] = softmax of the open columns of x[r], T in and out, float, __half or __nv_bfloat16,
// float32 in between: a block a row that is read three times from global memory, for its
// maximum, its sum and its weights, with trees in shared memory. Per element: 5 FLOPs, one T and
// an int read if the caches keep the row, one T written. Launch: rows blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Where nothing weighs, a row is zeros; NaN and +inf reach every column through the sum.
template <typename T>
__global__ void softmax_plain(const T* __restrict__ x, const int* __restrict__ mask,
                              T* __restrict__ y, size_t rows, size_t cols) {
    __shared__ float partial[256];
    const size_t start = size_t(blockIdx.x) * cols;
    const unsigned thread = threadIdx.x;
    const float lowest = -__int_as_float(0x7f800000);
    float best = lowest;
    for (size_t c = thread; c < cols; c += blockDim.x) {
        if (mask[start + c] == 1) {
            best = fmaxf(best, float(x[start + c]));
        }
    }
    partial[thread] = best;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] = fmaxf(partial[thread], partial[thread + width]);
        }
        __syncthreads();
    }
    const float shift = partial[0] == lowest ? 0.0f : partial[0];
    __syncthreads();
    float sum = 0.0f;
    for (size_t c = thread; c < cols; c += blockDim.x) {
        sum += mask[start + c] == 1 ? expf(float(x[start + c]) - shift) : 0.0f;
    }
    partial[thread] = sum;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] += partial[thread + width];
        }
        __syncthreads();
    }
    const float scale = partial[0] == 0.0f ? 0.0f : 1.0f / partial[0];
    for (size_t c = thread; c < cols; c += blockDim.x) {
        const bool is_open = mask[start + c] == 1;
        const float weight = is_open ? expf(float(x[start + c]) - shift) : 0.0f;
        y[start + c] = T(weight * scale);
    }
}
