// h = tanh(x[:, t] + W h), y = last h, float32: h in one shared buffer, two barriers a step.
// Per step and unit: 2 * hidden + 1 FLOPs. Launch: batch blocks of 128 threads, hidden <= 128.
extern "C" __global__ void recurrent_single_buffer(const float* __restrict__ x,
                                                   const float* __restrict__ weights,
                                                   float* __restrict__ y, size_t steps,
                                                   size_t hidden) {
    __shared__ float h[128];
    const size_t row = blockIdx.x;
    const size_t unit = threadIdx.x;
    const bool active = unit < hidden;
    h[unit] = 0.0f;
    __syncthreads();
    for (size_t step = 0; step < steps; ++step) {
        float sum = 0.0f;
        if (active) {
            sum = x[(row * steps + step) * hidden + unit];
            for (size_t k = 0; k < hidden; ++k) {
                sum += weights[unit * hidden + k] * h[k];
            }
        }
        __syncthreads();
        h[unit] = tanhf(sum);
        __syncthreads();
    }
    if (active) {
        y[row * hidden + unit] = h[unit];
    }
}
