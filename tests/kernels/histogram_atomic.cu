// Clean: twin of histogram_plain.cu, with atomicAdd() in shared and global memory.
extern "C" __global__ void histogram_atomic(const int* values, unsigned* bins, int n) {
    __shared__ unsigned counts[16];
    if (threadIdx.x < 16) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&counts[values[i] % 16], 1u);
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
    }
}
