// Fault: a warp sum reads from lanes that have left the kernel. Refused by gate 2,
// synccheck (reason barrier-error).
extern "C" __global__ void shuffle_after_exit(const float* x, float* y, int n) {
    const int t = threadIdx.x;
    if (t >= n) {
        return;
    }
    float sum = x[t];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);  // FAULT
    }
    if (t == 0) {
        y[0] = sum;
    }
}
