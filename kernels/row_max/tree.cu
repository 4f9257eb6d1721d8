// y[r] = max(x[r, c]), float32, NaN where a row holds one: a block a row, a tree in shared memory.
// Per element: 1 comparison, 4 bytes read. Launch: rows blocks of 256 threads.

// fmaxf would drop a NaN; this keeps it from either side.
__device__ float larger(float a, float b) {
    return a > b || a != a ? a : b;
}

extern "C" __global__ void row_max_tree(const float* __restrict__ x, float* __restrict__ y,
                                        size_t rows, size_t cols) {
    __shared__ float partial[256];
    const size_t row = blockIdx.x;
    const unsigned thread = threadIdx.x;
    float best = -__int_as_float(0x7f800000);
    for (size_t c = thread; c < cols; c += blockDim.x) {
        best = larger(best, x[row * cols + c]);
    }
    partial[thread] = best;
    __syncthreads();
    for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
        if (thread < width) {
            partial[thread] = larger(partial[thread], partial[thread + width]);
        }
        __syncthreads();
    }
    if (thread == 0) {
        y[row] = partial[0];
    }
}
