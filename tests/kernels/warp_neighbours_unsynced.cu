// Fault: lanes read their neighbour's word without __syncwarp(), each lane twice.
// Refused by gate 2, racecheck (reason race).
extern "C" __global__ void warp_neighbours_unsynced(const float* x, float* y) {
    __shared__ float tile[32];
    const unsigned t = threadIdx.x;
    tile[t] = 0.0f;
    __syncwarp();
    tile[t] = x[t];  // FAULT
    y[t] = tile[(t + 1) % 32];  // FAULT
}
