// Fault: the last thread reads one element past its array, perhaps the next array's.
// Refused by gate 2, undefined (reason undefined-behavior).
extern "C" __global__ void shared_array_overrun(float* y) {
    __shared__ float a[32];
    __shared__ float b[32];
    const int t = threadIdx.x;
    a[t] = 1.0f;
    b[t] = 2.0f;
    __syncthreads();
    y[t] = a[t + 1] + b[t];  // FAULT
}
