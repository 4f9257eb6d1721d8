// Clean: __syncthreads_count(), __syncthreads_and() and __syncthreads_or().
extern "C" __global__ void barrier_reductions(const int* x, int* count, int* every,
                                              int* any) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    count[i] = __syncthreads_count(x[i] > 0);
    every[i] = __syncthreads_and(x[i] > 0) != 0;
    any[i] = __syncthreads_or(x[i] > 0) != 0;
}
