// Fault: i * scale overflows int for large i. Refused by gate 2, undefined (reason
// undefined-behavior).
extern "C" __global__ void int_overflow(long long* y, int scale) {
    const int i = threadIdx.x;
    y[i] = i * scale;  // FAULT
}
