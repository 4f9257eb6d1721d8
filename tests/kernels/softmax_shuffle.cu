// Clean: softmax, one block a row, with shuffles, templates and shared memory inside a
// __device__ function.
template <typename T> struct Larger {
    __device__ static T of(T a, T b) { return a > b ? a : b; }
};

template <typename T> struct Sum {
    __device__ static T of(T a, T b) { return a + b; }
};

template <template <typename> class Op, int BLOCK>
__device__ float reduce(float value, float neutral) {
    __shared__ float partial[BLOCK / 32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2) {
        value = Op<float>::of(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    if (lane == 0) {
        partial[warp] = value;
    }
    __syncthreads();
    value = lane < BLOCK / 32 ? partial[lane] : neutral;
    for (int offset = 16; offset > 0; offset /= 2) {
        value = Op<float>::of(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(256)
    softmax_shuffle(const float* __restrict__ x, float* __restrict__ y, int columns) {
    const float* row = x + size_t(blockIdx.x) * columns;
    float largest = -3.402823466e38f;
    for (int c = threadIdx.x; c < columns; c += 256) {
        largest = fmaxf(largest, row[c]);
    }
    largest = reduce<Larger, 256>(largest, -3.402823466e38f);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += 256) {
        sum += expf(row[c] - largest);
    }
    sum = reduce<Sum, 256>(sum, 0.0f);
    for (int c = threadIdx.x; c < columns; c += 256) {
        y[size_t(blockIdx.x) * columns + c] = expf(row[c] - largest) / sum;
    }
}
