// Clean: twin of inclusive_guard.cu, with i < n.
extern "C" __global__ void exclusive_guard(const float* __restrict__ x,
                                           float* __restrict__ y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}
