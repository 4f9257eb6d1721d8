// Clean: twin of half_warp_in_shuffle.cu; the mask names the lanes that arrive.
extern "C" __global__ void half_warp_shuffle_mask(float* y) {
    const unsigned t = threadIdx.x;
    float value = float(t);
    if (t < 16) {
        value = __shfl_sync(0x0000ffffu, value, 0);
    }
    __syncthreads();
    y[t] = value;
}
