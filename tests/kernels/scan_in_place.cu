// Fault: a scan that reads and writes one buffer between two barriers: a step may read
// what another thread has written in it. Refused by gate 2 (racecheck; corpus B07).
extern "C" __global__ void scan_in_place(const float* x, float* y) {
    __shared__ float sums[64];
    const unsigned t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        if (t >= distance) {
            sums[t] += sums[t - distance];  // FAULT
        }
        __syncthreads();
    }
    y[t] = sums[t];
}
