// Clean: twin of dynamic_shared_unset.cu, which begins at zero.
extern "C" __global__ void dynamic_shared_set(const float* x, float* y) {
    extern __shared__ float sums[];
    const unsigned t = threadIdx.x;
    sums[t] = 0.0f;
    for (unsigned k = t; k < 4 * blockDim.x; k += blockDim.x) {
        sums[t] += x[k];
    }
    y[t] = sums[t];
}
