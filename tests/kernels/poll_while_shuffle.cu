// Clean: one warp polls with an atomic what the other sets after it has met in shuffles.
extern "C" __global__ void poll_while_shuffle(int* flag, int* y) {
    const unsigned t = threadIdx.x;
    int value = static_cast<int>(t);
    if (t < 32) {
        while (atomicAdd(flag, 0) == 0) {
        }
    } else {
        for (int offset = 16; offset > 0; offset /= 2) {
            value += __shfl_xor_sync(0xffffffffu, value, offset);
        }
        if (t == 32) {
            atomicExch(flag, 1);
        }
    }
    y[t] = value;
}
