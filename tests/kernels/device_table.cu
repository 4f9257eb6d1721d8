// Clean: threads write a __device__ array and read it back after a barrier.
__device__ float table[64];

extern "C" __global__ void device_table(const float* x, float* y) {
    const unsigned t = threadIdx.x;
    table[t] = x[t];
    __syncthreads();
    y[t] = table[63 - t];
}
