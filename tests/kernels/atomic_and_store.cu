// Fault: some threads add atomically, another stores plainly to the same word. Refused
// by gate 2, racecheck (reason race).
extern "C" __global__ void atomic_and_store(int* total) {
    if (threadIdx.x == 40) {
        total[0] = 7;  // FAULT
    } else {
        atomicAdd(&total[0], 1);  // FAULT
    }
}
