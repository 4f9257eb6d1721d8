// Fault: a CAS loop begins with a volatile read of a word that others change. Harmless
// on GPUs; gate 2, racecheck, notes it.
extern "C" __global__ void cas_after_volatile_read(unsigned* total) {
    unsigned seen = *static_cast<volatile unsigned*>(total);  // FAULT
    unsigned assumed;
    do {
        assumed = seen;
        seen = atomicCAS(total, assumed, assumed + threadIdx.x);  // FAULT
    } while (seen != assumed);
}
