// Clean: twin of device_counter_plain.cu, with atomicAdd().
__device__ unsigned counter;

extern "C" __global__ void device_counter_atomic(unsigned* y) {
    atomicAdd(&counter, 1u);
    y[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}
