// Clean: twin of pitch_in_bytes.cu, with the pitch divided by the element's size.
extern "C" __global__ void pitch_in_elements(const float* x, float* y, size_t pitch) {
    const size_t row = blockIdx.x;
    const size_t column = threadIdx.x;
    y[row * blockDim.x + column] = x[row * (pitch / sizeof(float)) + column];
}
