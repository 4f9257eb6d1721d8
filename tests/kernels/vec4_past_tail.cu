// Fault: n is no multiple of 4, and the last float4 reaches past the end of x and y.
// Refused by gate 2, memcheck (reason memory-error).
extern "C" __global__ void vec4_past_tail(const float* x, float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (4 * i < n) {
        const float4 a = reinterpret_cast<const float4*>(x)[i];  // FAULT
        reinterpret_cast<float4*>(y)[i] = a;  // FAULT
    }
}
