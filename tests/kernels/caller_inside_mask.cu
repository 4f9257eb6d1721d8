// Clean: twin of caller_outside_mask.cu; each half of the warp names itself.
extern "C" __global__ void caller_inside_mask(unsigned* y) {
    const unsigned t = threadIdx.x;
    const unsigned half = t < 16 ? 0x0000ffffu : 0xffff0000u;
    y[t] = __ballot_sync(half, t % 2 == 0);
}
