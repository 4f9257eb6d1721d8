// Fault: threads 32 and up shift a 32-bit value by 32 and more. Refused by gate 2,
// undefined (reason undefined-behavior).
extern "C" __global__ void wide_shift(unsigned* y) {
    const unsigned t = threadIdx.x;
    y[t] = 1u << t;  // FAULT
}
