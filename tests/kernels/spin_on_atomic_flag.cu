// Clean: twin of spin_on_volatile_flag.cu, with atomics; the wait must end.
extern "C" __global__ void spin_on_atomic_flag(int* flag, int* y) {
    if (threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) {
        }
        y[0] = 1;
    } else if (threadIdx.x == 32) {
        atomicExch(flag, 1);
    }
}
