// Clean: ballot, any and all over a full warp and over half of one.
extern "C" __global__ void votes(const int* x, unsigned* ballot, int* any, int* every) {
    const unsigned t = threadIdx.x;
    ballot[t] = __ballot_sync(0xffffffffu, x[t] > 0);
    any[t] = __any_sync(0xffffffffu, x[t] > 0) != 0;
    every[t] = 0;
    if (t % 32 < 16) {
        every[t] = __all_sync(0x0000ffffu, x[t] > 0) != 0;
    }
}
