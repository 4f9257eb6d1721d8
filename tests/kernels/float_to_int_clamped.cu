// Clean: twin of float_to_int_range.cu, clamped before the conversion.
extern "C" __global__ void float_to_int_clamped(const float* x, int* y) {
    const unsigned t = threadIdx.x;
    y[t] = static_cast<int>(fminf(fmaxf(x[t], -1e6f), 1e6f));
}
