// Clean: __syncthreads_or() orders shared memory as __syncthreads() does.
extern "C" __global__ void barrier_orders_reduction(const int* x, int* y) {
    __shared__ int tile[64];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    const int any = __syncthreads_or(x[t] == 3);
    y[t] = any ? tile[63 - t] : 0;
}
