// Fault: the guard is i < n + 133, more findings than a sanitizer prints by default.
// Refused by gate 2, memcheck (reason memory-error), with 133 errors counted.
extern "C" __global__ void overrun_133(float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n + 133) {
        y[i] = 1.0f;
    }
}
