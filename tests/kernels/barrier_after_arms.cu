// Clean: twin of barrier_in_each_arm.cu, with one barrier after both arms.
extern "C" __global__ void barrier_after_arms(float* y) {
    const unsigned t = threadIdx.x;
    if (t % 2 == 0) {
        y[t] = 1.0f;
    } else {
        y[t] = 2.0f;
    }
    __syncthreads();
}
