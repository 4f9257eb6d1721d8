// Fault: the last warp adds through volatile shared memory without __syncwarp(), as
// was right before Volta. Refused by gate 2, racecheck (reason race).
extern "C" __global__ void warp_tail_unsynced(const float* x, float* y) {
    __shared__ volatile float tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        tile[t] = tile[t] + tile[t + 32];  // FAULT
        tile[t] = tile[t] + tile[t + 16];  // FAULT
        tile[t] = tile[t] + tile[t + 8];  // FAULT
        tile[t] = tile[t] + tile[t + 4];  // FAULT
        tile[t] = tile[t] + tile[t + 2];  // FAULT
        tile[t] = tile[t] + tile[t + 1];  // FAULT
    }
    if (t == 0) {
        y[0] = tile[0];
    }
}
