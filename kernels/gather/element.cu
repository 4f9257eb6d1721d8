// y[i, c] = table[index[i], c], float32: a thread an element, its row and column by division.
// Per element: 4 bytes read, 4 written. Launch: ceil(items * cols / 256) blocks of 256 threads.
extern "C" __global__ void gather_element(const float* __restrict__ table,
                                          const int* __restrict__ index,
                                          float* __restrict__ y, size_t items, size_t cols) {
    const size_t element = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (element >= items * cols) {
        return;
    }
    const size_t item = element / cols;
    const size_t column = element % cols;
    y[element] = table[size_t(index[item]) * cols + column];
}
