// Fault: half of the warp waits in __syncwarp() for the other half, which waits at the
// block's barrier: a deadlock. Refused by gate 2, synccheck (reason barrier-error).
extern "C" __global__ void half_warp_in_syncwarp(float* y) {
    const unsigned t = threadIdx.x;
    y[t] = float(t);
    if (t < 16) {
        __syncwarp(0xffffffffu);  // FAULT
    }
    __syncthreads();  // FAULT
}
