// Clean: twin of half_warp_in_syncwarp.cu; the mask names the lanes that arrive.
extern "C" __global__ void half_warp_mask(float* y) {
    const unsigned t = threadIdx.x;
    y[t] = float(t);
    if (t < 16) {
        __syncwarp(0x0000ffffu);
    }
    __syncthreads();
}
