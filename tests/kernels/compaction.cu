// Keeps the positive elements in the order in which threads come to a counter: clean under
// every tool of gate 2, and another order each time. Refused by gate 1 where the order is
// part of the contract (corpus B08).
extern "C" __global__ void compaction(const float* x, float* y, unsigned* count,
                                      size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        y[atomicAdd(count, 1u)] = x[i];
    }
}
