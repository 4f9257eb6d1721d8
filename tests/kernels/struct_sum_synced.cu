// Clean: twin of struct_sum_unsynced.cu, with a barrier in each step.
struct Pair {
    float first, second;
};
__device__ Pair plus(Pair a, Pair b) { return {a.first + b.first, a.second + b.second}; }

extern "C" __global__ void struct_sum_synced(const float* x, float* y) {
    __shared__ Pair tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = {x[t], 1.0f};
    __syncthreads();
    for (unsigned offset = 32; offset > 0; offset /= 2) {
        if (t < offset) {
            tile[t] = plus(tile[t], tile[t + offset]);
        }
        __syncthreads();
    }
    if (t == 0) {
        y[0] = tile[0].first;
        y[1] = tile[0].second;
    }
}
