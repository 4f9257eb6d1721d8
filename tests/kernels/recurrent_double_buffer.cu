// Clean: twin of recurrent_single_buffer.cu, with one buffer to read and one to write.
extern "C" __global__ void recurrent_double_buffer(const float* __restrict__ weights,
                                                   const float* __restrict__ x,
                                                   float* __restrict__ y, int steps) {
    __shared__ float h[2][64];
    const int j = threadIdx.x;
    h[0][j] = 0.0f;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        const float* now = h[step % 2];
        float* next = h[(step + 1) % 2];
        float sum = x[(blockIdx.x * steps + step) * 64 + j];
        for (int k = 0; k < 64; ++k) {
            sum = fmaf(weights[j * 64 + k], now[k], sum);
        }
        next[j] = tanhf(sum);
        __syncthreads();
    }
    y[blockIdx.x * 64 + j] = h[steps % 2][j];
}
