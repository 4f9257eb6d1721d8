// Fault: threads below `active` read their neighbour's store without a barrier between.
// Refused by gate 2 (racecheck) as soon as more than one warp takes part (corpus B06).
extern "C" __global__ void exchange_unsynced(const float* x, float* y, unsigned active) {
    __shared__ float tile[64];
    const unsigned t = threadIdx.x;
    if (t < active) {
        tile[t] = x[t];
        y[t] = tile[active - 1 - t];  // FAULT
    }
}
