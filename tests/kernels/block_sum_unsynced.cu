// Fault: no barrier parts the steps of a tree sum. Refused by gate 2, racecheck (reason
// race).
extern "C" __global__ void block_sum_unsynced(const float* x, float* y) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    tile[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (unsigned offset = 64; offset > 0; offset /= 2) {
        if (t < offset) {
            tile[t] += tile[t + offset];  // FAULT
        }
    }
    if (t == 0) {
        y[blockIdx.x] = tile[0];
    }
}
