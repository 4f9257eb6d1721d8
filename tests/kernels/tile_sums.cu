// Clean: sums over tiles of 8 lanes with cooperative groups, and a sync of the block.
#include <cooperative_groups.h>

extern "C" __global__ void tile_sums(const float* x, float* y) {
    namespace cg = cooperative_groups;
    __shared__ float sums[16];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    float sum = x[block.thread_rank()];
    for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) {
        sum += tile.shfl_down(sum, offset);
    }
    if (tile.thread_rank() == 0) {
        sums[block.thread_rank() / tile.size()] = sum;
    }
    block.sync();
    if (block.thread_rank() < block.size() / tile.size()) {
        y[block.thread_rank()] = sums[block.thread_rank()];
    }
}
