// Clean: twin of barrier_after_exit.cu; threads past n leave after the barrier.
extern "C" __global__ void exit_after_barrier(float* y, int n) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = float(t);
    __syncthreads();
    if (t >= n) {
        return;
    }
    y[t] = tile[n - 1 - t];
}
