// Every store of a warp goes to 32 rows: 32 sectors a request.
extern "C" __global__ void transpose_naive(const float* __restrict__ x,
                                           float* __restrict__ y, int n) {
    const int column = blockIdx.x * 32 + threadIdx.x;
    const int row = blockIdx.y * 32 + threadIdx.y;
    y[column * n + row] = x[row * n + column];
}
