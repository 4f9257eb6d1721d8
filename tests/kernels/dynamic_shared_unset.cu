// Fault: sums in dynamic shared memory that nobody has set to zero. Refused by gate 2,
// initcheck (reason uninitialized-read).
extern "C" __global__ void dynamic_shared_unset(const float* x, float* y) {
    extern __shared__ float sums[];
    const unsigned t = threadIdx.x;
    for (unsigned k = t; k < 4 * blockDim.x; k += blockDim.x) {
        sums[t] += x[k];  // FAULT
    }
    y[t] = sums[t];
}
