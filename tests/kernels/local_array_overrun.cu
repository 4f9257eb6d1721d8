// Fault: the index into a thread's own array of 4 depends on an argument and is 4 at
// most. Refused by gate 2, undefined (reason undefined-behavior).
extern "C" __global__ void local_array_overrun(int* y, int k) {
    int r[4] = {1, 2, 3, 4};
    const int t = threadIdx.x;
    y[t] = r[k + t % 4];  // FAULT
}
