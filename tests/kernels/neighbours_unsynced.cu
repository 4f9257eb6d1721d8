// Fault: threads of a block exchange values through global memory without a barrier.
// Refused by gate 2, racecheck (reason race).
extern "C" __global__ void neighbours_unsynced(float* x, float* y) {
    const unsigned first = blockIdx.x * blockDim.x;
    const unsigned t = threadIdx.x;
    x[first + t] = float(t);  // FAULT
    y[first + t] = x[first + (t + 1) % blockDim.x];  // FAULT
}
