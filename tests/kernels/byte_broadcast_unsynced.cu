// Fault: one thread reads what another stored in a byte of its own, without a barrier.
// Refused by gate 2, racecheck (reason race).
extern "C" __global__ void byte_broadcast_unsynced(unsigned char* y) {
    __shared__ unsigned char tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = static_cast<unsigned char>(t + 1);  // FAULT
    y[t] = tile[0];  // FAULT
}
