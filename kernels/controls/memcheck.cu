// Planted fault for memcheck: the thread with i == n stores one element past y[n].
extern "C" __global__ void control_memcheck(float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i <= n) {
        y[i] = 1.0f;
    }
}
