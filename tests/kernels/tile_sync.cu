// Clean: tile.sync() orders shared memory within a tile of 32 lanes.
#include <cooperative_groups.h>

extern "C" __global__ void tile_sync(const float* x, float* y) {
    namespace cg = cooperative_groups;
    __shared__ float values[64];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const unsigned t = block.thread_rank();
    values[t] = x[t];
    tile.sync();
    y[t] = values[t ^ 31];
}
