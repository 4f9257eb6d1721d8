// Fault: a helper gets a shared array as a pointer and sums one element too many.
// Refused by gate 2, memcheck (reason memory-error).
__device__ float sum_of(const float* values, int count) {
    float sum = 0.0f;
    for (int k = 0; k < count; ++k) {
        sum += values[k];  // FAULT
    }
    return sum;
}

extern "C" __global__ void pointer_past_shared(float* y, int count) {
    __shared__ float tile[32];
    tile[threadIdx.x] = float(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = sum_of(tile, count);
}
