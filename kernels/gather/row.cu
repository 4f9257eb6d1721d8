// y[i, c] = table[index[i], c], float32: a warp a row, no division; four floats at once
// where every row begins at a multiple of 16 bytes.
// Per element: 4 bytes read, 4 written. Launch: ceil(items / 8) blocks of 256 threads.
extern "C" __global__ void gather_row(const float* __restrict__ table,
                                      const int* __restrict__ index,
                                      float* __restrict__ y, size_t items, size_t cols) {
    const size_t lane = threadIdx.x % 32;
    const size_t item = size_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    if (item >= items) {
        return;
    }
    const float* const from = table + size_t(index[item]) * cols;
    float* const to = y + item * cols;
    if (cols % 4 != 0) {
        for (size_t c = lane; c < cols; c += 32) {
            to[c] = from[c];
        }
        return;
    }
    const float4* const wide_from = reinterpret_cast<const float4*>(from);
    float4* const wide_to = reinterpret_cast<float4*>(to);
#pragma unroll 4
    for (size_t c = lane; c < cols / 4; c += 32) {
        wide_to[c] = wide_from[c];
    }
}
