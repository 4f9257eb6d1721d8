// Fault: the lanes of one warp exchange values through shared memory without
// __syncwarp(). Refused by gate 2, racecheck, as a warning (reason hazard-warning).
extern "C" __global__ void shared_race_in_warp(float* y, size_t n) {
    __shared__ float tile[32];
    const unsigned t = threadIdx.x;
    if (t < 32 && t < n) {
        tile[t] = float(t);
        y[t] = tile[(t + 1) % 32];
    }
}
