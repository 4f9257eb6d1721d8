// Clean: twin of dynamic_shared_overrun.cu, launched with room for one more float.
extern "C" __global__ void dynamic_shared_inside(float* y) {
    extern __shared__ float tile[];
    const unsigned t = threadIdx.x;
    if (t == 0) {
        tile[0] = 0.0f;
    }
    tile[t + 1] = float(t);
    __syncthreads();
    y[t] = tile[t];
}
