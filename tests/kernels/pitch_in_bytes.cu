// Fault: a pitch in bytes is used as one in elements, so most rows are read up to
// 1.5 MB past the end of x. Refused by gate 2, memcheck (reason memory-error).
extern "C" __global__ void pitch_in_bytes(const float* x, float* y, size_t pitch) {
    const size_t row = blockIdx.x;
    const size_t column = threadIdx.x;
    y[row * blockDim.x + column] = x[row * pitch + column];  // FAULT
}
