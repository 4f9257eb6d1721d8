// Fault: kernels/recurrent/single_buffer.cu without the barrier that parts the reads of h
// from its writes. Refused by gate 1 where values differ between launches (on an H200 and in
// the host's orders), else by gate 2, racecheck (reason race).
extern "C" __global__ void recurrent_one_barrier(const float* __restrict__ x,
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
                sum += weights[unit * hidden + k] * h[k];  // FAULT
            }
        }
        h[unit] = tanhf(sum);  // FAULT
        __syncthreads();
    }
    if (active) {
        y[row * hidden + unit] = h[unit];
    }
}
