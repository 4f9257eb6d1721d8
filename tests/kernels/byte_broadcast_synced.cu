// Clean: twin of byte_broadcast_unsynced.cu, with the barrier.
extern "C" __global__ void byte_broadcast_synced(unsigned char* y) {
    __shared__ unsigned char tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = static_cast<unsigned char>(t + 1);
    __syncthreads();
    y[t] = tile[0];
}
