// Fault: the last element of the tile is read, but was never written. Refused by gate
// 2, initcheck (reason uninitialized-read).
extern "C" __global__ void shared_last_unset(const float* x, float* y) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    if (t < 127) {
        tile[t] = x[t];
    }
    __syncthreads();
    y[t] = tile[t];  // FAULT
}
