// Fault: the tiles are overwritten for the next step while others still multiply.
// Refused by gate 2, racecheck (reason race).
extern "C" __global__ void matmul_one_barrier(const float* a, const float* b, float* c,
                                              int n) {
    __shared__ float left[8][8];
    __shared__ float right[8][8];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int row = blockIdx.y * 8 + ty;
    const int column = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 8) {
        left[ty][tx] = a[row * n + first + tx];  // FAULT
        right[ty][tx] = b[(first + ty) * n + column];  // FAULT
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            sum = fmaf(left[ty][k], right[k][tx], sum);  // FAULT
        }
    }
    c[row * n + column] = sum;
}
