// Clean: twin of cross_block_sum.cu, with atomicAdd().
extern "C" __global__ void cross_block_atomic(float* total) {
    if (threadIdx.x == 0) {
        atomicAdd(&total[0], 1.0f);
    }
}
