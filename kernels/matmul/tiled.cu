// C = A B, row-major, T in and out, float, __half or __nv_bfloat16: operands become floats on
// their way into shared memory, and sums stay floats. A block a tile of 32 x 32, 4 x 2 elements
// a thread in registers. Slices of 16 columns of A and 16 rows of B take turns in two stages of
// shared memory: the next one is on its way while this one is multiplied.
// Per product: 2 FLOP, 1/16 T read. Launch: ceil(n / 32) x ceil(m / 32) blocks of 128.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr unsigned SIDE = 32;
constexpr unsigned DEPTH = 16;
constexpr unsigned THREADS = 128;
constexpr unsigned ROWS = 4;
constexpr unsigned COLS = 2;
constexpr unsigned EACH = SIDE * DEPTH / THREADS;

// A slice of A is kept column by column, so that a thread reads its rows at once.
struct Stage {
    float a[DEPTH][SIDE + ROWS];
    float b[DEPTH][SIDE];
};

template <typename T>
__global__ void matmul_tiled(const T* __restrict__ a, const T* __restrict__ b,
                             T* __restrict__ c, size_t m, size_t n, size_t k) {
    __shared__ __align__(16) Stage stages[2];
    const unsigned thread = threadIdx.x;
    const size_t first_row = size_t(blockIdx.y) * SIDE;
    const size_t first_col = size_t(blockIdx.x) * SIDE;
    const unsigned own_row = thread / (SIDE / COLS) * ROWS;
    const unsigned own_col = thread % (SIDE / COLS) * COLS;
    float next_a[EACH];
    float next_b[EACH];
    float sums[ROWS][COLS] = {};

    const auto fetch = [&](size_t first) {
        for (unsigned i = 0; i < EACH; ++i) {
            const unsigned place = i * THREADS + thread;
            const size_t row = first_row + place / DEPTH;
            const size_t left = first + place % DEPTH;
            const size_t col = first_col + place % SIDE;
            const size_t down = first + place / SIDE;
            next_a[i] = row < m && left < k ? float(a[row * k + left]) : 0.0f;
            next_b[i] = down < k && col < n ? float(b[down * n + col]) : 0.0f;
        }
    };
    const auto keep = [&](Stage& stage) {
        for (unsigned i = 0; i < EACH; ++i) {
            const unsigned place = i * THREADS + thread;
            stage.a[place % DEPTH][place / DEPTH] = next_a[i];
            stage.b[place / SIDE][place % SIDE] = next_b[i];
        }
    };
    const auto multiply = [&](const Stage& stage) {
        for (unsigned l = 0; l < DEPTH; ++l) {
            const float4 down = *reinterpret_cast<const float4*>(&stage.a[l][own_row]);
            const float2 across = *reinterpret_cast<const float2*>(&stage.b[l][own_col]);
            const float column[ROWS] = {down.x, down.y, down.z, down.w};
            for (unsigned r = 0; r < ROWS; ++r) {
                sums[r][0] += column[r] * across.x;
                sums[r][1] += column[r] * across.y;
            }
        }
    };

    fetch(0);
    unsigned turn = 0;
    for (size_t first = 0; first < k; first += DEPTH) {
        keep(stages[turn]);
        __syncthreads();
        fetch(first + DEPTH);
        multiply(stages[turn]);
        turn = 1 - turn;
    }
    for (unsigned r = 0; r < ROWS; ++r) {
        for (unsigned s = 0; s < COLS; ++s) {
            const size_t row = first_row + own_row + r;
            const size_t col = first_col + own_col + s;
            if (row < m && col < n) {
                c[row * n + col] = T(sums[r][s]);
            }
        }
    }
}
