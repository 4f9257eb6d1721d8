// Fault: the last block sums the others' partial sums, which no fence published before
// the ticket was drawn. Refused by gate 2, racecheck (reason race).
extern "C" __global__ void last_block_unfenced(const float* x, float* partial,
                                               unsigned* ticket, float* y) {
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (unsigned k = 0; k < 64; ++k) {
            sum += x[blockIdx.x * 64 + k];
        }
        partial[blockIdx.x] = sum;  // FAULT
        if (atomicAdd(ticket, 1u) == gridDim.x - 1) {
            float total = 0.0f;
            for (unsigned block = 0; block < gridDim.x; ++block) {
                total += partial[block];  // FAULT
            }
            y[0] = total;
        }
    }
}
