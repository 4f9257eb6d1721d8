// Fault: one thread of each block adds to the same word, without an atomic. Refused by
// gate 2, racecheck (reason race).
extern "C" __global__ void cross_block_sum(float* total) {
    if (threadIdx.x == 0) {
        total[0] += 1.0f;  // FAULT
    }
}
