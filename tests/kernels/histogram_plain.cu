// Fault: threads of a block count in shared memory with ++. Refused by gate 2,
// racecheck (reason race).
extern "C" __global__ void histogram_plain(const int* values, unsigned* bins, int n) {
    __shared__ unsigned counts[16];
    if (threadIdx.x < 16) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        ++counts[values[i] % 16];  // FAULT
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
    }
}
