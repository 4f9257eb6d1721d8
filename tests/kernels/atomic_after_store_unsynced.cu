// Fault: the store that clears the sum is not parted from the atomics that add to it.
// Refused by gate 2, racecheck (reason race).
extern "C" __global__ void atomic_after_store_unsynced(int* y) {
    __shared__ int sum;
    if (threadIdx.x == 0) {
        sum = 0;  // FAULT
    }
    atomicAdd(&sum, 1);  // FAULT
    __syncthreads();
    y[threadIdx.x] = sum;
}
