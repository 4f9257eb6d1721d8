// Fault: lanes 0 to 15 read from lanes 16 to 31, which take no part. Refused by gate 2,
// synccheck (reason barrier-error).
extern "C" __global__ void shuffle_from_inactive_lane(float* y) {
    const unsigned t = threadIdx.x;
    float value = float(t);
    if (t < 16) {
        value = __shfl_down_sync(0x0000ffffu, value, 16);  // FAULT
    }
    y[t] = value;
}
