// Fault: the fence stands before the store that it should publish.
// Refused by gate 2, racecheck (reason race).
__device__ unsigned arrived;

extern "C" __global__ void fence_before_store(const float* x, float* partial, float* y) {
    if (threadIdx.x != 0) {
        return;
    }
    __threadfence();
    partial[blockIdx.x] = x[blockIdx.x];  // FAULT
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
        float sum = 0.0f;
        for (unsigned block = 0; block < gridDim.x; ++block) {
            sum += partial[block];  // FAULT
        }
        y[0] = sum;
    }
}
