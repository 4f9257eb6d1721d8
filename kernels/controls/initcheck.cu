// Planted fault for initcheck: y is read before anything has written it.
extern "C" __global__ void control_initcheck(float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = y[i] + 1.0f;
    }
}
