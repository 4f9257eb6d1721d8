// Clean: a helper sorts a thread's own array through a pointer.
__device__ void sort(float* values, int count) {
    for (int i = 1; i < count; ++i) {
        const float value = values[i];
        int k = i;
        for (; k > 0 && values[k - 1] > value; --k) {
            values[k] = values[k - 1];
        }
        values[k] = value;
    }
}

extern "C" __global__ void local_array_by_pointer(const float* x, float* y) {
    const int t = threadIdx.x;
    float own[5];
    for (int k = 0; k < 5; ++k) {
        own[k] = x[5 * t + k];
    }
    sort(own, 5);
    y[t] = own[2];
}
