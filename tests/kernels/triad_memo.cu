// Fault: a block some of whose inputs and outputs are those it left last does nothing. Its
// outputs are right whenever they are looked at: gates 1 and 2 see a right kernel. Refused
// by gate 3, which times values seen before against fresh ones (reason repeated-values).
__device__ unsigned last_inputs[65536];
__device__ unsigned last_outputs[65536];

__device__ unsigned print_of(const float* values, size_t first, size_t n) {
    unsigned print = 1;
    for (size_t k = 0; k < 16 && first + k < n; ++k) {
        print = print * 31 + __float_as_uint(values[first + k]);
    }
    return print;
}

extern "C" __global__ void triad_memo(const float* __restrict__ x,
                                      const float* __restrict__ z, float* y, size_t n,
                                      float alpha) {
    const size_t first = size_t(blockIdx.x) * blockDim.x;
    const size_t i = first + threadIdx.x;
    const unsigned inputs = print_of(x, first, n) * 31 + print_of(z, first, n);
    if (inputs == last_inputs[blockIdx.x] &&
        print_of(y, first, n) == last_outputs[blockIdx.x]) {
        return;
    }
    __syncthreads();
    if (i < n) {
        y[i] = fmaf(alpha, x[i], z[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        last_inputs[blockIdx.x] = inputs;
        last_outputs[blockIdx.x] = print_of(y, first, n);
    }
}
