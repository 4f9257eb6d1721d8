// Clean: twin of atomic_after_store_unsynced.cu, with the barrier.
extern "C" __global__ void atomic_after_store_synced(int* y) {
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    atomicAdd(&sum, 1);
    __syncthreads();
    y[threadIdx.x] = sum;
}
