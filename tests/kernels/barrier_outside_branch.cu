// Clean: twin of barrier_in_branch.cu, with the barrier before the branch.
extern "C" __global__ void barrier_outside_branch(float* y, int n) {
    __shared__ float tile[64];
    const int t = threadIdx.x;
    tile[t] = float(t);
    __syncthreads();
    if (t < n) {
        y[t] = tile[n - 1 - t];
    }
}
