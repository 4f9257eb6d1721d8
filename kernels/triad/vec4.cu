// y[i] = fma(alpha, x[i], z[i]), float32: four elements a thread, scalar tail.
// Per element: 2 FLOPs, 8 bytes read, 4 bytes written.
// Launch: ceil((n / 4 + n % 4) / 256) blocks of 256 threads. The first n / 4 threads
// move one float4 each, the next n % 4 one element each; x, z, y are 16-byte aligned.
extern "C" __global__ void triad_vec4(const float* __restrict__ x,
                                      const float* __restrict__ z,
                                      float* __restrict__ y, size_t n, float alpha) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t vectors = n / 4;
    if (i < vectors) {
        const float4 a = reinterpret_cast<const float4*>(x)[i];
        const float4 b = reinterpret_cast<const float4*>(z)[i];
        reinterpret_cast<float4*>(y)[i] =
            make_float4(fmaf(alpha, a.x, b.x), fmaf(alpha, a.y, b.y),
                        fmaf(alpha, a.z, b.z), fmaf(alpha, a.w, b.w));
        return;
    }
    const size_t tail = 4 * vectors + (i - vectors);
    if (tail < n) {
        y[tail] = fmaf(alpha, x[tail], z[tail]);
    }
}
