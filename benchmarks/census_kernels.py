"""The kernels that the access census is compared on, and the counters of a GPU."""

import numpy as np

from planted import Planted

# Requests and 32-byte sectors of global memory, passes over the banks of shared memory.
COUNTERS = {
    "global load": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    ),
    "global store": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    ),
    "shared load": (
        "smsp__inst_executed_op_shared_ld.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    ),
    "shared store": (
        "smsp__inst_executed_op_shared_st.sum",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    ),
}
METRICS = tuple(name for pair in COUNTERS.values() for name in pair)
N, SIDE, STEPS, SEQUENCES = 1000003, 1024, 256, 8


def floats(count: int, seed: int = 7) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return draw.standard_normal(count).astype(np.float32)


def copy(stride: int, offset: int) -> Planted:
    count = 100_000
    return Planted(
        name="strided_copy",
        path="benchmarks/census/strided_copy.cu",
        grid=(391, 1, 1),
        block=(256, 1, 1),
        inputs={"x": floats(count * stride + offset)},
        outputs={"y": ("float32", count)},
        arguments=("x", "y", f"int32 {count}", f"int32 {stride}", f"int32 {offset}"),
    )


def transpose(name: str) -> Planted:
    return Planted(
        name=name,
        path=f"benchmarks/census/{name}.cu",
        grid=(SIDE // 32, SIDE // 32, 1),
        block=(32, 32, 1),
        inputs={"x": floats(SIDE * SIDE)},
        outputs={"y": ("float32", SIDE * SIDE)},
        arguments=("x", "y", f"int32 {SIDE}"),
    )


def triad(name: str, blocks: int) -> Planted:
    return Planted(
        name=f"triad_{name}",
        path=f"kernels/triad/{name}.cu",
        grid=(blocks, 1, 1),
        block=(256, 1, 1),
        inputs={"x": floats(N), "z": floats(N, seed=8)},
        outputs={"y": ("float32", N)},
        arguments=("x", "z", "y", f"uint64 {N}", "float32 1.5"),
    )


def recurrence(name: str) -> Planted:
    return Planted(
        name=name,
        grid=(SEQUENCES, 1, 1),
        inputs={"weights": floats(4096) / 64, "x": floats(SEQUENCES * STEPS * 64)},
        outputs={"y": ("float32", SEQUENCES * 64)},
        arguments=("weights", "x", "y", f"int32 {STEPS}"),
    )


def recurrent_states(kernel: Planted) -> np.ndarray:
    """The last hidden states in float64, flat."""
    weights = kernel.inputs["weights"].reshape(64, 64).astype(np.float64)
    x = kernel.inputs["x"].reshape(SEQUENCES, STEPS, 64).astype(np.float64)
    h = np.zeros((SEQUENCES, 64))
    for step in range(STEPS):
        h = np.tanh(x[:, step] + h @ weights.T)
    return h.ravel()


def label(kernel: Planted) -> str:
    """Name of one launch: the kernel's, and its integers."""
    numbers = (a.split()[1] for a in kernel.arguments if a.startswith("int32"))
    return "-".join((kernel.name, *numbers))


COUNTED = (
    copy(1, 0),
    copy(2, 0),
    copy(8, 0),
    copy(1, 1),
    transpose("transpose_naive"),
    transpose("transpose_conflict"),
    transpose("transpose_padded_tile"),
    triad("scalar", -(-N // 256)),
    triad("vec4", -(-(N // 4 + N % 4) // 256)),
)
RECURRENT = (
    recurrence("recurrent_single_buffer"),
    recurrence("recurrent_double_buffer"),
)
