// Clean: twin of vec4_misaligned.cu, shifted by a whole float4.
extern "C" __global__ void vec4_aligned(const float* x, float4* y, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* shifted = reinterpret_cast<const float4*>(x + 4);
    if (i < vectors) {
        y[i] = shifted[i];
    }
}
