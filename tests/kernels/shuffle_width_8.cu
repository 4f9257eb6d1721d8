// Clean: all four shuffles in groups of 8 lanes.
extern "C" __global__ void shuffle_width_8(const int* x, int* up, int* down, int* swap,
                                           int* index) {
    const unsigned t = threadIdx.x;
    const int value = x[t];
    up[t] = __shfl_up_sync(0xffffffffu, value, 3, 8);
    down[t] = __shfl_down_sync(0xffffffffu, value, 3, 8);
    swap[t] = __shfl_xor_sync(0xffffffffu, value, 5, 8);
    index[t] = __shfl_sync(0xffffffffu, value, 10, 8);
}
