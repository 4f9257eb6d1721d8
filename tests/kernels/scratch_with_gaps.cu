// Fault: only the even elements of the scratch buffer are written, all are read.
// Refused by gate 2, initcheck (reason uninitialized-read).
extern "C" __global__ void scratch_with_gaps(const float* x, float* scratch, float* y) {
    const unsigned t = threadIdx.x;
    if (t < 32) {
        scratch[2 * t] = x[t];
    }
    __syncthreads();
    y[t] = scratch[t];  // FAULT
}
