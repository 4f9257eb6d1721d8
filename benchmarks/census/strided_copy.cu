// y[i] = x[offset + i * stride]: sectors a request grow with the stride.
extern "C" __global__ void strided_copy(const float* __restrict__ x, float* __restrict__ y,
                                        int n, int stride, int offset) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[offset + i * stride];
    }
}
