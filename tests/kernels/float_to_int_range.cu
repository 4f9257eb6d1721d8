// Fault: a float out of the range of int is converted. Refused by gate 2, undefined
// (reason undefined-behavior).
extern "C" __global__ void float_to_int_range(const float* x, int* y) {
    const unsigned t = threadIdx.x;
    y[t] = static_cast<int>(x[t]);  // FAULT
}
