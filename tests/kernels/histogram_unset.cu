// Fault: the block's counts do not begin at zero. Refused by gate 2, initcheck (reason
// uninitialized-read).
extern "C" __global__ void histogram_unset(const int* values, unsigned* bins, int n) {
    __shared__ unsigned counts[16];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&counts[values[i] % 16], 1u);  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);  // FAULT
    }
}
