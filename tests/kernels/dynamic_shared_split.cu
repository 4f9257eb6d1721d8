// Clean: one dynamic buffer holds an array of float and one of int.
extern "C" __global__ void dynamic_shared_split(const float* x, float* y, int n) {
    extern __shared__ float values[];
    int* order = reinterpret_cast<int*>(values + n);
    const int t = threadIdx.x;
    values[t] = x[t];
    order[t] = n - 1 - t;
    __syncthreads();
    y[t] = values[order[t]];
}
