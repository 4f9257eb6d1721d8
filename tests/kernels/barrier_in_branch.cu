// Fault: only threads below n meet at the barrier, the others run to the end. Gate 2,
// synccheck, notes it.
extern "C" __global__ void barrier_in_branch(float* y, int n) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = float(t);
    if (t < n) {
        __syncthreads();  // FAULT
        y[t] = tile[n - 1 - t];
    }
}
