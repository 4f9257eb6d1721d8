// Clean: softmax, one block a row, with trees in dynamic shared memory.
extern "C" __global__ void softmax_dynamic(const float* __restrict__ x,
                                           float* __restrict__ y, int columns) {
    extern __shared__ float tile[];
    const int t = threadIdx.x;
    const float* row = x + size_t(blockIdx.x) * columns;
    float largest = -3.402823466e38f;
    for (int c = t; c < columns; c += blockDim.x) {
        largest = fmaxf(largest, row[c]);
    }
    tile[t] = largest;
    __syncthreads();
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        if (t < offset) {
            tile[t] = fmaxf(tile[t], tile[t + offset]);
        }
        __syncthreads();
    }
    largest = tile[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = t; c < columns; c += blockDim.x) {
        sum += expf(row[c] - largest);
    }
    tile[t] = sum;
    __syncthreads();
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        if (t < offset) {
            tile[t] += tile[t + offset];
        }
        __syncthreads();
    }
    for (int c = t; c < columns; c += blockDim.x) {
        y[size_t(blockIdx.x) * columns + c] = expf(row[c] - largest) / tile[0];
    }
}
