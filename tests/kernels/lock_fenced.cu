// Clean: twin of lock_unfenced.cu, with a fence before the lock is given back.
__device__ int lock;

extern "C" __global__ void lock_fenced(int* total) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            total[0] += 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}
