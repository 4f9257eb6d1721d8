// Fault: half of the warp waits in a shuffle for the other half, which waits at the
// block's barrier: a deadlock. Refused by gate 2, synccheck (reason barrier-error).
extern "C" __global__ void half_warp_in_shuffle(float* y) {
    const unsigned t = threadIdx.x;
    float value = float(t);
    if (t < 16) {
        value = __shfl_sync(0xffffffffu, value, 0);  // FAULT
    }
    __syncthreads();  // FAULT
    y[t] = value;
}
