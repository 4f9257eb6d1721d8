// Fault: threads past n leave before the barrier. Legal since Volta, so gate 2,
// synccheck, notes it only.
extern "C" __global__ void barrier_after_exit(float* y, int n) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    if (t >= n) {
        return;
    }
    tile[t] = float(t);
    __syncthreads();  // FAULT
    y[t] = tile[n - 1 - t];
}
