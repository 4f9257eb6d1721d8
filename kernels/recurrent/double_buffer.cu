// h = tanh(x[:, t] + W h), y = last h, float32: two shared buffers, one barrier a step;
// each thread keeps its row of W in registers, zeros behind its end.
// Per step and unit: 2 * hidden + 1 FLOPs. Launch: batch blocks of 128 threads, hidden <= 128.
extern "C" __global__ void __launch_bounds__(128)
    recurrent_double_buffer(const float* __restrict__ x, const float* __restrict__ weights,
                            float* __restrict__ y, size_t steps, size_t hidden) {
    __shared__ __align__(16) float h[2][128];
    const size_t row = blockIdx.x;
    const size_t unit = threadIdx.x;
    const bool active = unit < hidden;
    float w[128];
#pragma unroll
    for (size_t k = 0; k < 128; ++k) {
        w[k] = active && k < hidden ? weights[unit * hidden + k] : 0.0f;
    }
    h[0][unit] = 0.0f;
    __syncthreads();
    for (size_t step = 0; step < steps; ++step) {
        const float input = active ? x[(row * steps + step) * hidden + unit] : 0.0f;
        const float4* const now = reinterpret_cast<const float4*>(h[step % 2]);
        float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < 32; ++k) {
            const float4 part = now[k];
            sums.x += w[4 * k] * part.x;
            sums.y += w[4 * k + 1] * part.y;
            sums.z += w[4 * k + 2] * part.z;
            sums.w += w[4 * k + 3] * part.w;
        }
        const float sum = input + ((sums.x + sums.y) + (sums.z + sums.w));
        h[(step + 1) % 2][unit] = active ? tanhf(sum) : 0.0f;
        __syncthreads();
    }
    if (active) {
        y[row * hidden + unit] = h[steps % 2][unit];
    }
}
