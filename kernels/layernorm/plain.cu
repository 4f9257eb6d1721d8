// y = (x - mean) / sqrt(var + eps) * weight + bias in each row, T in and out, float, __half or
// __nv_bfloat16, float32 in between: a block a row, which reads its row three times, for the
// mean, for the variance, for the output. eps is added in float32.
// Per element: 8 FLOPs, one T read at least, one T written.
// Launch: rows blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ float block_sum(float value, float* partial) {
    const unsigned thread = threadIdx.x;
    partial[thread] = value;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] += partial[thread + width];
        }
        __syncthreads();
    }
    const float total = partial[0];
    __syncthreads();  // before a next sum takes the array over
    return total;
}

template <typename T>
__global__ void layernorm_plain(const T* __restrict__ x, const T* __restrict__ weight,
                                const T* __restrict__ bias, T* __restrict__ y, size_t rows,
                                size_t cols, float eps) {
    __shared__ float partial[256];
    const size_t begin = size_t(blockIdx.x) * cols;
    float sum = 0.0f;
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        sum += float(x[begin + c]);
    }
    const float mean = block_sum(sum, partial) / float(cols);
    float squares = 0.0f;
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        const float difference = float(x[begin + c]) - mean;
        squares += difference * difference;
    }
    const float variance = block_sum(squares, partial) / float(cols);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        const float normal = (float(x[begin + c]) - mean) * scale;
        y[begin + c] = T(normal * float(weight[c]) + float(bias[c]));
    }
}
