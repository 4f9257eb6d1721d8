// Clean: twin of neighbours_unsynced.cu, with the barrier.
extern "C" __global__ void neighbours_synced(float* x, float* y) {
    const unsigned first = blockIdx.x * blockDim.x;
    const unsigned t = threadIdx.x;
    x[first + t] = float(t);
    __syncthreads();
    y[first + t] = x[first + (t + 1) % blockDim.x];
}
