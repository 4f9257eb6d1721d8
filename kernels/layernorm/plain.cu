// y = (x - mean) / sqrt(var + eps) * weight + bias in each row, float32: a block a row, which
// reads its row three times: for the mean, for the variance, for the output.
// Per element: 8 FLOPs, 4 bytes read at least, 4 bytes written.
// Launch: rows blocks of 256 threads.
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

extern "C" __global__ void layernorm_plain(const float* __restrict__ x,
                                           const float* __restrict__ weight,
                                           const float* __restrict__ bias,
                                           float* __restrict__ y, size_t rows, size_t cols,
                                           float eps) {
    __shared__ float partial[256];
    const size_t begin = size_t(blockIdx.x) * cols;
    float sum = 0.0f;
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        sum += x[begin + c];
    }
    const float mean = block_sum(sum, partial) / float(cols);
    float squares = 0.0f;
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        const float difference = x[begin + c] - mean;
        squares += difference * difference;
    }
    const float variance = block_sum(squares, partial) / float(cols);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (size_t c = threadIdx.x; c < cols; c += blockDim.x) {
        y[begin + c] = (x[begin + c] - mean) * scale * weight[c] + bias[c];
    }
}
