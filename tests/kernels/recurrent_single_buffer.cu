// Fault: h = tanh(x + W h) in one buffer; no barrier parts the reads of h from its
// writes. Refused by gate 2, racecheck (reason race).
extern "C" __global__ void recurrent_single_buffer(const float* __restrict__ weights,
                                                   const float* __restrict__ x,
                                                   float* __restrict__ y, int steps) {
    __shared__ float h[64];
    const int j = threadIdx.x;
    h[j] = 0.0f;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        float sum = x[(blockIdx.x * steps + step) * 64 + j];
        for (int k = 0; k < 64; ++k) {
            sum = fmaf(weights[j * 64 + k], h[k], sum);  // FAULT
        }
        h[j] = tanhf(sum);  // FAULT
        __syncthreads();
    }
    y[blockIdx.x * 64 + j] = h[j];
}
