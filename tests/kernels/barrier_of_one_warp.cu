// Fault: the first warp waits at a barrier of its own, the second already at the next
// one. Refused by gate 2, synccheck (reason barrier-error).
extern "C" __global__ void barrier_of_one_warp(float* y) {
    const unsigned t = threadIdx.x;
    if (t < 32) {
        y[t] = 1.0f;
        __syncthreads();  // FAULT
    }
    __syncthreads();  // FAULT
    if (t >= 32) {
        y[t] = 2.0f;
    }
}
