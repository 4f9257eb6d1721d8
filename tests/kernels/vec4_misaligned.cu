// Fault: x + 1 is no address of a float4. Refused by gate 2, memcheck (reason
// memory-error).
extern "C" __global__ void vec4_misaligned(const float* x, float4* y, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4* shifted = reinterpret_cast<const float4*>(x + 1);
    if (i < vectors) {
        y[i] = shifted[i];  // FAULT
    }
}
