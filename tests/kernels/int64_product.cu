// Clean: twin of int_overflow.cu; the product is one of long long.
extern "C" __global__ void int64_product(long long* y, int scale) {
    const int i = threadIdx.x;
    y[i] = static_cast<long long>(i) * scale;
}
