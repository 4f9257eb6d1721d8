// The part of cooperative groups that stays inside a block.
#pragma once

namespace cooperative_groups {

class thread_block {
  public:
    static FIVEGATES_INLINE void sync(FIVEGATES_LINE) {
        fivegates_barrier(-line, line);
    }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    static dim3 group_dim() { return dim3(blockDim); }
};

inline thread_block this_thread_block() { return {}; }

template <unsigned N>
class thread_block_tile {
    static_assert(N <= 32 && (N & (N - 1)) == 0, "a power of two, at most a warp");
    static unsigned lane() { return thread_block::thread_rank() & 31; }
    static unsigned first() { return lane() & ~(N - 1); }
    static unsigned mask() { return (N == 32 ? ~0u : (1u << N % 32) - 1) << first(); }

  public:
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned thread_rank() { return lane() & (N - 1); }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    static FIVEGATES_INLINE void sync(FIVEGATES_LINE) { __syncwarp(mask(), line); }
    template <class T>
    static FIVEGATES_INLINE T shfl(T value, int rank, FIVEGATES_LINE) {
        return __shfl_sync(mask(), value, rank, N, line);
    }
    template <class T>
    static FIVEGATES_INLINE T shfl_up(T value, unsigned delta, FIVEGATES_LINE) {
        return __shfl_up_sync(mask(), value, delta, N, line);
    }
    template <class T>
    static FIVEGATES_INLINE T shfl_down(T value, unsigned delta, FIVEGATES_LINE) {
        return __shfl_down_sync(mask(), value, delta, N, line);
    }
    template <class T>
    static FIVEGATES_INLINE T shfl_xor(T value, int lanes, FIVEGATES_LINE) {
        return __shfl_xor_sync(mask(), value, lanes, N, line);
    }
    static FIVEGATES_INLINE int any(int p, FIVEGATES_LINE) {
        return __any_sync(mask(), p, line);
    }
    static FIVEGATES_INLINE int all(int p, FIVEGATES_LINE) {
        return __all_sync(mask(), p, line);
    }
    static FIVEGATES_INLINE unsigned ballot(int p, FIVEGATES_LINE) {
        return __ballot_sync(mask(), p, line) >> first();
    }
};

template <unsigned N, class Group>
inline thread_block_tile<N> tiled_partition(const Group&) {
    return {};
}

FIVEGATES_INLINE void sync(const thread_block&, FIVEGATES_LINE) {
    thread_block::sync(line);
}
template <unsigned N>
FIVEGATES_INLINE void sync(const thread_block_tile<N>&, FIVEGATES_LINE) {
    thread_block_tile<N>::sync(line);
}

template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};

template <class Group, class T, class Operation>
FIVEGATES_INLINE T reduce(const Group&, T value, Operation operation, FIVEGATES_LINE) {
    for (unsigned d = Group::size() / 2; d != 0; d /= 2) {
        value = operation(value, Group::shfl_xor(value, int(d), line));
    }
    return value;
}

}  // namespace cooperative_groups
