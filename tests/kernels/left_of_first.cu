// Fault: the first thread reads x[-1]. Refused by gate 2, memcheck (reason
// memory-error).
extern "C" __global__ void left_of_first(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] - x[i - 1];  // FAULT
    }
}
