// y[r, c] = softmax of the open columns of x[r], T in and out, float, __half or __nv_bfloat16,
// float32 in between: a block a row whose first 1024 columns stay in registers, read once; only
// the rest of a wider row is read again. Shuffles reduce.
// Per element: 5 FLOPs, one T and an int read, one T written. Launch: rows blocks of 256 threads.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A column's value; one that is masked is as if it held -inf.
template <typename T>
__device__ float value(const T* x, const int* mask, size_t place) {
    return mask[place] == 1 ? float(x[place]) : -__int_as_float(0x7f800000);
}

// fmaxf drops a NaN, which comes back through the sum.
__device__ float block_max(float best) {
    __shared__ float maxima[8];
    for (int distance = 16; distance > 0; distance /= 2) {
        best = fmaxf(best, __shfl_xor_sync(0xffffffff, best, distance));
    }
    if (threadIdx.x % 32 == 0) {
        maxima[threadIdx.x / 32] = best;
    }
    __syncthreads();
    best = maxima[threadIdx.x % 8];
    for (int half = 4; half > 0; half /= 2) {
        best = fmaxf(best, __shfl_xor_sync(0xffffffff, best, half));
    }
    return best;
}

__device__ float block_sum(float sum) {
    __shared__ float sums[8];
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    sum = sums[threadIdx.x % 8];
    for (int half = 4; half > 0; half /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, half);
    }
    return sum;
}

// Where nothing weighs, a row is zeros; NaN and +inf reach every column through the sum.
template <typename T>
__global__ void softmax_registers(const T* __restrict__ x, const int* __restrict__ mask,
                                  T* __restrict__ y, size_t rows, size_t cols) {
    const float lowest = -__int_as_float(0x7f800000);
    const size_t start = size_t(blockIdx.x) * cols;
    const size_t rest = 1024 + threadIdx.x;
    float kept[4];
    float best = lowest;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const size_t c = threadIdx.x + 256 * k;
        kept[k] = c < cols ? value(x, mask, start + c) : lowest;
        best = fmaxf(best, kept[k]);
    }
    for (size_t c = rest; c < cols; c += 256) {
        best = fmaxf(best, value(x, mask, start + c));
    }
    best = block_max(best);
    const float shift = best == lowest ? 0.0f : best;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        kept[k] = expf(kept[k] - shift);
        sum += kept[k];
    }
    for (size_t c = rest; c < cols; c += 256) {
        sum += expf(value(x, mask, start + c) - shift);
    }
    sum = block_sum(sum);
    const float scale = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const size_t c = threadIdx.x + 256 * k;
        if (c < cols) {
            y[start + c] = T(kept[k] * scale);
        }
    }
    for (size_t c = rest; c < cols; c += 256) {
        y[start + c] = T(expf(value(x, mask, start + c) - shift) * scale);
    }
}
