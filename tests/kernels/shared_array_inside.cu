// Clean: twin of shared_array_overrun.cu; the index wraps.
extern "C" __global__ void shared_array_inside(float* y) {
    __shared__ float a[32];
    __shared__ float b[32];
    const int t = threadIdx.x;
    a[t] = 1.0f;
    b[t] = 2.0f;
    __syncthreads();
    y[t] = a[(t + 1) % 32] + b[t];
}
