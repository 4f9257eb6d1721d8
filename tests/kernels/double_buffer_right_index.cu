// Clean: twin of double_buffer_wrong_index.cu, with step + 1.
extern "C" __global__ void double_buffer_right_index(const float* x, float* y,
                                                     int steps) {
    __shared__ float ring[2][64];
    const int t = threadIdx.x;
    ring[0][t] = x[t];
    ring[1][t] = x[t];
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        const float* now = ring[step % 2];
        float* next = ring[(step + 1) % 2];
        next[t] = 0.5f * (now[t] + now[(t + 1) % 64]);
        __syncthreads();
    }
    y[t] = ring[steps % 2][t];
}
