// Clean: twin of matmul_one_barrier.cu, with a barrier after the products too.
extern "C" __global__ void matmul_two_barriers(const float* a, const float* b, float* c,
                                               int n) {
    __shared__ float left[8][8];
    __shared__ float right[8][8];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * 8 + ty;
    const int column = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 8) {
        left[ty][tx] = a[row * n + first + tx];
        right[ty][tx] = b[(first + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            sum = fmaf(left[ty][k], right[k][tx], sum);
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}
