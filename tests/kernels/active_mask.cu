// Clean: the lanes of a branch count themselves with __activemask() and add once.
extern "C" __global__ void active_mask(const int* x, unsigned* total) {
    const unsigned t = threadIdx.x;
    if (x[t] > 0) {
        const unsigned active = __activemask();
        const unsigned leader = __ffs(active) - 1;
        if (t % 32 == leader) {
            atomicAdd(total, static_cast<unsigned>(__popc(active)));
        }
    }
}
