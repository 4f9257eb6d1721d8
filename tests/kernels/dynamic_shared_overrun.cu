// Fault: the last thread writes 4 bytes past the dynamic shared memory. Refused by
// gate 2, memcheck (reason memory-error).
extern "C" __global__ void dynamic_shared_overrun(float* y) {
    extern __shared__ float tile[];
    const unsigned t = threadIdx.x;
    if (t == 0) {
        tile[0] = 0.0f;
    }
    tile[t + 1] = float(t);  // FAULT
    __syncthreads();
    y[t] = tile[t];
}
