// Fault: stores megabytes past the end of y, far from any red zone. Refused by gate 2,
// memcheck (reason memory-error).
extern "C" __global__ void far_past_end(float* y, long long offset) {
    y[threadIdx.x + offset] = 1.0f;  // FAULT
}
