// Clean: twin of shuffle_from_inactive_lane.cu; lanes 0 to 15 read from each other.
extern "C" __global__ void shuffle_from_active_lane(float* y) {
    const unsigned t = threadIdx.x;
    float value = float(t);
    if (t < 16) {
        value = __shfl_xor_sync(0x0000ffffu, value, 8);
    }
    y[t] = value;
}
