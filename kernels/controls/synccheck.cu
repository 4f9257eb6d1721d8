// Planted fault for synccheck: the lanes of one warp wait at two different barriers.
extern "C" __global__ void control_synccheck(float* y, size_t n) {
    const unsigned t = threadIdx.x;
    float value = 0.0f;
    if (t % 2 == 0) {
        value = 1.0f;
        __syncthreads();
    } else {
        value = 2.0f;
        __syncthreads();
    }
    if (t < n) {
        y[t] = value;
    }
}
