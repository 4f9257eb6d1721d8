// Planted fault for racecheck: no barrier between a store to shared memory and the
// load of the same word by a thread of the next warp. One block of 256 threads.
extern "C" __global__ void control_racecheck(float* y, size_t n) {
    __shared__ float tile[256];
    const unsigned t = threadIdx.x;
    tile[t] = float(t);
    if (t < n) {
        y[t] = tile[(t + 32) % 256];
    }
}
