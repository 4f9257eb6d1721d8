// Clean: twin of fence_before_store.cu, with the fence behind the store.
__device__ unsigned arrived;

extern "C" __global__ void fence_after_store(const float* x, float* partial, float* y) {
    if (threadIdx.x != 0) {
        return;
    }
    partial[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
        float sum = 0.0f;
        for (unsigned block = 0; block < gridDim.x; ++block) {
            sum += partial[block];
        }
        y[0] = sum;
    }
}
