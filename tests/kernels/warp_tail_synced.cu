// Clean: twin of warp_tail_unsynced.cu; __syncwarp() parts each read from each write.
extern "C" __global__ void warp_tail_synced(const float* x, float* y) {
    __shared__ volatile float tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        float sum = tile[t];
        for (unsigned offset = 32; offset > 0; offset /= 2) {
            sum += tile[t + offset];
            __syncwarp();
            tile[t] = sum;
            __syncwarp();
        }
    }
    if (t == 0) {
        y[0] = tile[0];
    }
}
