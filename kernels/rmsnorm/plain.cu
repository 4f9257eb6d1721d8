// y = x / sqrt(mean(x * x) + eps) * weight in each row, float32: a block a row, which reads
// its row twice and adds its squares up in a tree in shared memory.
// Per element: 4 FLOPs, 4 bytes read at least, 4 bytes written.
// Launch: rows blocks of 256 threads.
extern "C" __global__ void rmsnorm_plain(const float* __restrict__ x,
                                         const float* __restrict__ weight,
                                         float* __restrict__ y, size_t rows, size_t cols,
                                         float eps) {
    __shared__ float partial[256];
    const unsigned thread = threadIdx.x;
    const size_t begin = size_t(blockIdx.x) * cols;
    float squares = 0.0f;
    for (size_t c = thread; c < cols; c += blockDim.x) {
        squares += x[begin + c] * x[begin + c];
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
        y[begin + c] = x[begin + c] * scale * weight[c];
    }
}
