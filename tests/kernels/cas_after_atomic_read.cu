// Clean: twin of cas_after_volatile_read.cu; the first read is an atomic too.
extern "C" __global__ void cas_after_atomic_read(unsigned* total) {
    unsigned seen = atomicAdd(total, 0u);
    unsigned assumed;
    do {
        assumed = seen;
        seen = atomicCAS(total, assumed, assumed + threadIdx.x);
    } while (seen != assumed);
}
