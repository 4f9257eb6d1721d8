// Fault: each block moves 256 elements, also the last one, whose tail is shorter.
// Refused by gate 2, memcheck (reason memory-error).
extern "C" __global__ void block_tail(const float* x, float* y, int n) {
    const int first = blockIdx.x * 256;
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        y[first + k] = x[first + k];  // FAULT
    }
}
