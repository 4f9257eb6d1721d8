// Planted fault for UndefinedBehaviorSanitizer: the sum overflows int from i == 101 on.
extern "C" __global__ void control_undefined(float* y, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        const int sum = 2147483547 + int(i);
        y[i] = float(sum);
    }
}
