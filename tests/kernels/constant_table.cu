// Clean: reads a table in __constant__ memory that the source itself fills.
__constant__ float table[8] = {1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 32.0f, 64.0f, 128.0f};

extern "C" __global__ void constant_table(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * table[i % 8];
    }
}
