// Fault: 64 threads write 64 of the tile's 128 elements and read all. Refused by gate
// 2, initcheck (reason uninitialized-read).
extern "C" __global__ void half_written_tile(const float* x, float* y) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    y[t] = tile[127 - t] + tile[t];  // FAULT
}
