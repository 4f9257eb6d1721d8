// Clean: twin of wide_shift.cu, modulo the width.
extern "C" __global__ void narrow_shift(unsigned* y) {
    const unsigned t = threadIdx.x;
    y[t] = 1u << (t % 32);
}
