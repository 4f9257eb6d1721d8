// Fault: the lock is given back without a fence, so the sum it guards may not be seen.
// Refused by gate 2, racecheck (reason race).
__device__ int lock;

extern "C" __global__ void lock_unfenced(int* total) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            total[0] += 1;  // FAULT
            atomicExch(&lock, 0);
            done = true;
        }
    }
}
