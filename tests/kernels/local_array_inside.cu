// Clean: twin of local_array_overrun.cu, launched with k = 0.
extern "C" __global__ void local_array_inside(int* y, int k) {
    int r[4] = {1, 2, 3, 4};
    const int t = threadIdx.x;
    y[t] = r[k + t % 4];
}
