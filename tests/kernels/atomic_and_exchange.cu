// Clean: twin of atomic_and_store.cu; the store is an atomic too.
extern "C" __global__ void atomic_and_exchange(int* total) {
    if (threadIdx.x == 40) {
        atomicExch(&total[0], 7);
    } else {
        atomicAdd(&total[0], 1);
    }
}
