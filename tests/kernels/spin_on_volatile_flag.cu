// Fault: one thread waits for a volatile flag that is set with a plain store. Gate 2,
// racecheck, notes it; the wait must end.
extern "C" __global__ void spin_on_volatile_flag(volatile int* flag, int* y) {
    if (threadIdx.x == 0) {
        while (*flag == 0) {  // FAULT
        }
        y[0] = 1;
    } else if (threadIdx.x == 32) {
        *flag = 1;  // FAULT
    }
}
