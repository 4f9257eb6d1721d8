// Fault: lanes 16 to 31 vote with a mask that does not name them. Refused by gate 2,
// synccheck (reason barrier-error).
extern "C" __global__ void caller_outside_mask(unsigned* y) {
    const unsigned t = threadIdx.x;
    y[t] = __ballot_sync(0x0000ffffu, t % 2 == 0);  // FAULT
}
