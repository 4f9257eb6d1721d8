// Fault: adds to an output that nobody has set. Refused by gate 2, initcheck (reason
// uninitialized-read).
extern "C" __global__ void accumulate_unset(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += x[i];  // FAULT
    }
}
