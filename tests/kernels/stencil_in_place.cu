// Fault: blocks read neighbours that other blocks overwrite in the same launch. Refused by
// gate 1, whose orders of the blocks give other outputs, and by racecheck on the host;
// on a device racecheck sees shared memory only (corpus B13).
extern "C" __global__ void stencil_in_place(const float* x, float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i];
    }
    __syncthreads();
    if (i > 0 && i + 1 < n) {
        y[i] = (y[i - 1] + y[i] + y[i + 1]) / 3;  // FAULT
    }
}
