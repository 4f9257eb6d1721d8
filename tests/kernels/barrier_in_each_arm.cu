// Fault: odd and even threads wait at two different barriers. Refused by gate 2,
// synccheck (reason barrier-error).
extern "C" __global__ void barrier_in_each_arm(float* y) {
    const unsigned t = threadIdx.x;
    if (t % 2 == 0) {
        y[t] = 1.0f;
        __syncthreads();  // FAULT
    } else {
        y[t] = 2.0f;
        __syncthreads();  // FAULT
    }
}
