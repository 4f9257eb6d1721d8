// Fault: the last thread reads past its row, into the next row of the same array.
// Refused by gate 2, undefined (reason undefined-behavior).
extern "C" __global__ void shared_row_overrun(float* y) {
    __shared__ float rows[2][32];
    const int t = threadIdx.x;
    rows[0][t] = 1.0f;
    rows[1][t] = 2.0f;
    __syncthreads();
    y[t] = rows[0][t + 1];  // FAULT
}
