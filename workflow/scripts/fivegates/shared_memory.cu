// Fills the shared memory that a block is launched with.
extern "C" __global__ void fivegates_fill_shared(unsigned words, unsigned word) {
    extern __shared__ unsigned shared[];
    volatile unsigned* const memory = shared;
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        memory[i] = word;
    }
}
