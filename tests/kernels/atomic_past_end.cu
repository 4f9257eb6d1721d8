// Fault: values of 16 and more are counted past the last of 16 bins. Refused by gate 2,
// memcheck (reason memory-error).
extern "C" __global__ void atomic_past_end(const int* values, unsigned* bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[values[i]], 1u);  // FAULT
    }
}
