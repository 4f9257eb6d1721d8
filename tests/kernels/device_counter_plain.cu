// Fault: all threads increment a __device__ variable with ++. Refused by gate 2,
// racecheck (reason race).
__device__ unsigned counter;

extern "C" __global__ void device_counter_plain(unsigned* y) {
    ++counter;  // FAULT
    y[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}
