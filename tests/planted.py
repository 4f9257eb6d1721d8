"""Kernels with a planted fault and their clean twins, each with one small launch."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """One kernel, one launch, and what a checker has to say about it.

    Lines of the source that end with `// FAULT` are those where it may say it. Inputs
    are initialised buffers, and a kernel may change them; outputs are not initialised.
    The reference holds to rtol 1e-5, atol 1e-6; most of them are exact.
    """

    name: str
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (64, 1, 1)
    shared: int = 0
    inputs: Arrays = field(default_factory=dict)
    outputs: dict[str, tuple[str, int]] = field(default_factory=dict)
    arguments: tuple[str, ...]
    check: str | None = None
    level: str = "error"
    reference: Callable[[Arrays], Arrays] | None = None
    headers: bool = False
    path: str = ""

    def __post_init__(self) -> None:
        """The source is a file of the kernel's name, unless said otherwise."""
        if not self.path:
            object.__setattr__(self, "path", f"tests/kernels/{self.name}.cu")


def floats(count: int, seed: int = 7) -> np.ndarray:
    """Multiples of 1/4 from -4 to 4: their sums and small products are exact."""
    draw = np.random.default_rng(seed)
    return (draw.integers(-16, 17, count) / 4).astype(np.float32)


def integers(count: int, low: int, high: int, seed: int = 7) -> np.ndarray:
    """Values from low to high - 1, int32."""
    return np.random.default_rng(seed).integers(low, high, count, dtype=np.int32)


def zeros(dtype: str) -> np.ndarray:
    """One element that a kernel adds to."""
    return np.zeros(1, dtype)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The upper half of each float32: exact for floats()."""
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def softmax(arrays: Arrays) -> Arrays:
    x = arrays["x"].reshape(-1, 1000).astype(np.float64)
    raised = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": (raised / raised.sum(axis=1, keepdims=True)).ravel()}


def recurrent(arrays: Arrays) -> Arrays:
    weights = arrays["weights"].reshape(64, 64).astype(np.float64)
    x = arrays["x"].reshape(2, 4, 64).astype(np.float64)
    h = np.zeros((2, 64))
    for step in range(4):
        h = np.tanh(x[:, step] + h @ weights.T)
    return {"y": h.ravel()}


def smoothed(arrays: Arrays) -> Arrays:
    x = arrays["x"].astype(np.float64)
    for _ in range(3):
        x = 0.5 * (x + np.roll(x, -1))
    return {"y": x}


def product(arrays: Arrays) -> Arrays:
    return {"c": (arrays["a"].reshape(16, 16) @ arrays["b"].reshape(16, 16)).ravel()}


def triad(arrays: Arrays) -> Arrays:
    x = arrays["x"].astype(np.float64)
    return {"y": 1.25 * x + arrays["z"].astype(np.float64)}


def votes(arrays: Arrays) -> Arrays:
    positive = (arrays["x"] > 0).reshape(-1, 32)
    ballot = (positive * (1 << np.arange(32, dtype=np.uint64))).sum(axis=1)
    every = np.zeros(positive.shape, np.int32)
    every[:, :16] = positive[:, :16].all(axis=1, keepdims=True)
    return {
        "ballot": ballot.repeat(32).astype(np.uint32),
        "any": positive.any(axis=1).repeat(32).astype(np.int32),
        "every": every.ravel(),
    }


def barrier_reductions(arrays: Arrays) -> Arrays:
    positive = (arrays["x"] > 0).reshape(-1, 96)
    return {
        "count": positive.sum(axis=1).repeat(96).astype(np.int32),
        "every": positive.all(axis=1).repeat(96).astype(np.int32),
        "any": positive.any(axis=1).repeat(96).astype(np.int32),
    }


def shuffles_of_8(arrays: Arrays) -> Arrays:
    x = arrays["x"].reshape(-1, 8)
    lane = np.arange(8)
    chosen = {
        "up": np.where(lane < 3, lane, lane - 3),
        "down": np.where(lane + 3 > 7, lane, lane + 3),
        "swap": lane ^ 5,
        "index": np.full(8, 10 % 8),
    }
    return {name: x[:, source].ravel() for name, source in chosen.items()}


RECURRENT = {
    "grid": (2, 1, 1),
    "inputs": {"weights": floats(4096) / 32, "x": floats(512, seed=19)},
    "outputs": {"y": ("float32", 128)},
    "arguments": ("weights", "x", "y", "int32 4"),
}
MATMUL = {
    "grid": (2, 2, 1),
    "block": (8, 8, 1),
    "inputs": {"a": floats(256), "b": floats(256, seed=19)},
    "outputs": {"c": ("float32", 256)},
    "arguments": ("a", "b", "c", "int32 16"),
}
TRIAD = {
    "inputs": {"x": floats(1027), "z": floats(1027, seed=19)},
    "outputs": {"y": ("float32", 1027)},
    "arguments": ("x", "z", "y", "uint64 1027", "float32 1.25"),
    "reference": triad,
}
DOUBLED = {
    "grid": (5, 1, 1),
    "block": (256, 1, 1),
    "inputs": {"x": floats(1027)},
    "outputs": {"y": ("float32", 1027)},
    "arguments": ("x", "y", "uint64 1027"),
}
SHIFTED = {
    "inputs": {"x": floats(260)},
    "outputs": {"y": ("float32", 256)},
    "arguments": ("x", "y", "int32 64"),
}
PITCHED = {
    "grid": (64, 1, 1),
    "block": (32, 1, 1),
    "inputs": {"x": floats(64 * 2048)},
    "outputs": {"y": ("float32", 64 * 32)},
    "arguments": ("x", "y", "uint64 8192"),
}
DIFFERENCES = {
    "grid": (2, 1, 1),
    "inputs": {"x": floats(100)},
    "outputs": {"y": ("float32", 100)},
    "arguments": ("x", "y", "int32 100"),
}
BLOCKWISE = {
    "grid": (4, 1, 1),
    "block": (128, 1, 1),
    "inputs": {"x": floats(1000)},
    "outputs": {"y": ("float32", 1000)},
    "arguments": ("x", "y", "int32 1000"),
}
PLANE = {
    "grid": (3, 3, 1),
    "block": (4, 4, 1),
    "inputs": {"x": floats(90)},
    "outputs": {"y": ("float32", 90)},
    "arguments": ("x", "y", "int32 9", "int32 10"),
}
HISTOGRAM = {
    "grid": (2, 1, 1),
    "inputs": {"values": integers(100, 0, 16), "bins": np.zeros(16, np.uint32)},
    "arguments": ("values", "bins", "int32 100"),
}
LAST_BLOCK = {
    "grid": (5, 1, 1),
    "inputs": {"x": floats(320), "ticket": zeros("uint32")},
    "outputs": {"partial": ("float32", 5), "y": ("float32", 1)},
    "arguments": ("x", "partial", "ticket", "y"),
}
RING = {
    "inputs": {"x": floats(64)},
    "outputs": {"y": ("float32", 64)},
    "arguments": ("x", "y", "int32 3"),
}
IN_AND_OUT_64 = {
    "inputs": {"x": floats(64)},
    "outputs": {"y": ("float32", 64)},
    "arguments": ("x", "y"),
}
EXITS = {
    "outputs": {"y": ("float32", 40)},
    "arguments": ("y", "int32 40"),
}
OUT_32 = {
    "block": (32, 1, 1),
    "outputs": {"y": ("float32", 32)},
    "arguments": ("y",),
}
OUT_64 = {
    "outputs": {"y": ("float32", 64)},
    "arguments": ("y",),
}
SOFTMAX = {
    "grid": (64, 1, 1),
    "block": (256, 1, 1),
    "inputs": {"x": floats(64_000)},
    "outputs": {"y": ("float32", 64_000)},
    "arguments": ("x", "y", "int32 1000"),
    "reference": softmax,
}

MEMCHECK = (
    Planted(name="inclusive_guard", check="memcheck", **DOUBLED),
    Planted(name="exclusive_guard", reference=lambda a: {"y": 2 * a["x"]}, **DOUBLED),
    Planted(
        name="triad_scalar",
        path="kernels/triad/scalar.cu",
        grid=(5, 1, 1),
        block=(256, 1, 1),
        **TRIAD,
    ),
    Planted(
        name="triad_vec4",
        path="kernels/triad/vec4.cu",
        grid=(2, 1, 1),
        block=(256, 1, 1),
        **TRIAD,
    ),
    Planted(name="vec4_misaligned", check="memcheck", **SHIFTED),
    Planted(name="vec4_aligned", reference=lambda a: {"y": a["x"][4:]}, **SHIFTED),
    Planted(
        name="vec4_past_tail",
        check="memcheck",
        grid=(2, 1, 1),
        block=(256, 1, 1),
        inputs={"x": floats(1027)},
        outputs={"y": ("float32", 1027)},
        arguments=("x", "y", "uint64 1027"),
    ),
    Planted(name="dynamic_shared_overrun", check="memcheck", shared=256, **OUT_64),
    Planted(
        name="dynamic_shared_inside",
        shared=260,
        reference=lambda _: {"y": np.maximum(np.arange(64) - 1, 0)},
        **OUT_64,
    ),
    Planted(
        name="far_past_end",
        check="memcheck",
        outputs={"y": ("float32", 64)},
        arguments=("y", "int64 4000000"),
    ),
    Planted(name="pitch_in_bytes", check="memcheck", **PITCHED),
    Planted(
        name="pitch_in_elements",
        reference=lambda a: {"y": a["x"].reshape(64, 2048)[:, :32].ravel()},
        **PITCHED,
    ),
    Planted(name="left_of_first", check="memcheck", **DIFFERENCES),
    Planted(
        name="left_guarded",
        reference=lambda a: {"y": np.diff(a["x"], prepend=np.float32(0))},
        **DIFFERENCES,
    ),
    Planted(name="block_tail", check="memcheck", **BLOCKWISE),
    Planted(name="block_tail_guarded", reference=lambda a: {"y": a["x"]}, **BLOCKWISE),
    Planted(name="swapped_index", check="memcheck", **PLANE),
    Planted(name="row_major_index", reference=lambda a: {"y": a["x"]}, **PLANE),
    Planted(
        name="pointer_past_shared",
        check="memcheck",
        block=(32, 1, 1),
        outputs={"y": ("float32", 32)},
        arguments=("y", "int32 33"),
    ),
    Planted(
        name="pointer_to_shared",
        block=(32, 1, 1),
        outputs={"y": ("float32", 32)},
        arguments=("y", "int32 32"),
        reference=lambda _: {"y": np.full(32, 496.0)},
    ),
    Planted(
        name="atomic_past_end",
        check="memcheck",
        inputs={"values": integers(64, 0, 20), "bins": np.zeros(16, np.uint32)},
        arguments=("values", "bins", "int32 64"),
    ),
    Planted(
        name="atomic_inside",
        inputs={"values": integers(64, 0, 20), "bins": np.zeros(16, np.uint32)},
        arguments=("values", "bins", "int32 64"),
    ),
)

RACECHECK = (
    Planted(name="recurrent_single_buffer", check="racecheck", **RECURRENT),
    Planted(name="recurrent_two_barriers", reference=recurrent, **RECURRENT),
    Planted(name="recurrent_double_buffer", reference=recurrent, **RECURRENT),
    Planted(
        name="warp_tail_unsynced",
        check="racecheck",
        inputs={"x": floats(64)},
        outputs={"y": ("float32", 1)},
        arguments=("x", "y"),
    ),
    Planted(
        name="warp_tail_synced",
        inputs={"x": floats(64)},
        outputs={"y": ("float32", 1)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].sum(keepdims=True)},
    ),
    Planted(
        name="warp_neighbours_unsynced",
        check="racecheck",
        block=(32, 1, 1),
        inputs={"x": floats(32)},
        outputs={"y": ("float32", 32)},
        arguments=("x", "y"),
    ),
    Planted(
        name="warp_neighbours_synced",
        block=(32, 1, 1),
        inputs={"x": floats(32)},
        outputs={"y": ("float32", 32)},
        arguments=("x", "y"),
        reference=lambda a: {"y": np.roll(a["x"], -1)},
    ),
    Planted(
        name="cross_block_sum",
        check="racecheck",
        grid=(4, 1, 1),
        inputs={"total": zeros("float32")},
        arguments=("total",),
    ),
    Planted(
        name="cross_block_atomic",
        grid=(4, 1, 1),
        inputs={"total": zeros("float32")},
        arguments=("total",),
    ),
    Planted(
        name="atomic_and_store",
        check="racecheck",
        inputs={"total": zeros("int32")},
        arguments=("total",),
    ),
    Planted(
        name="atomic_and_exchange",
        inputs={"total": zeros("int32")},
        arguments=("total",),
    ),
    Planted(
        name="block_sum_unsynced",
        check="racecheck",
        grid=(3, 1, 1),
        block=(128, 1, 1),
        inputs={"x": floats(384)},
        outputs={"y": ("float32", 3)},
        arguments=("x", "y"),
    ),
    Planted(
        name="block_sum",
        grid=(3, 1, 1),
        block=(128, 1, 1),
        inputs={"x": floats(384)},
        outputs={"y": ("float32", 3)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].reshape(3, 128).sum(axis=1)},
    ),
    Planted(name="last_block_unfenced", check="racecheck", **LAST_BLOCK),
    Planted(
        name="last_block_fenced",
        reference=lambda a: {
            "partial": a["x"].reshape(5, 64).sum(axis=1),
            "y": a["x"].sum(keepdims=True),
        },
        **LAST_BLOCK,
    ),
    Planted(name="histogram_plain", check="racecheck", **HISTOGRAM),
    Planted(name="histogram_atomic", **HISTOGRAM),
    Planted(
        name="neighbours_unsynced",
        check="racecheck",
        grid=(2, 1, 1),
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 128)},
        arguments=("x", "y"),
    ),
    Planted(
        name="neighbours_synced",
        grid=(2, 1, 1),
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 128)},
        arguments=("x", "y"),
        reference=lambda _: {"y": np.tile(np.roll(np.arange(64), -1), 2)},
    ),
    Planted(name="double_buffer_wrong_index", check="racecheck", **RING),
    Planted(name="double_buffer_right_index", reference=smoothed, **RING),
    Planted(name="matmul_one_barrier", check="racecheck", **MATMUL),
    Planted(name="matmul_two_barriers", reference=product, **MATMUL),
    Planted(
        name="spin_on_volatile_flag",
        check="racecheck",
        level="notice",
        inputs={"flag": zeros("int32")},
        outputs={"y": ("int32", 1)},
        arguments=("flag", "y"),
    ),
    Planted(
        name="spin_on_atomic_flag",
        inputs={"flag": zeros("int32")},
        outputs={"y": ("int32", 1)},
        arguments=("flag", "y"),
        reference=lambda _: {"y": np.ones(1, np.int32)},
    ),
    Planted(
        name="cas_after_volatile_read",
        check="racecheck",
        level="notice",
        inputs={"total": zeros("uint32")},
        arguments=("total",),
    ),
    Planted(
        name="cas_after_atomic_read",
        inputs={"total": zeros("uint32")},
        arguments=("total",),
    ),
    Planted(
        name="device_counter_plain",
        check="racecheck",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
    ),
    Planted(
        name="device_counter_atomic",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
        reference=lambda _: {"y": np.arange(64, dtype=np.uint32)},
    ),
)

INITCHECK = (
    Planted(name="accumulate_unset", check="initcheck", **DIFFERENCES),
    Planted(
        name="accumulate_set", reference=lambda a: {"y": 1 + a["x"]}, **DIFFERENCES
    ),
    Planted(
        name="shared_last_unset",
        check="initcheck",
        block=(128, 1, 1),
        inputs={"x": floats(127)},
        outputs={"y": ("float32", 128)},
        arguments=("x", "y"),
    ),
    Planted(
        name="shared_last_set",
        block=(128, 1, 1),
        inputs={"x": floats(127)},
        outputs={"y": ("float32", 128)},
        arguments=("x", "y"),
        reference=lambda a: {"y": np.append(a["x"], np.float32(0))},
    ),
    Planted(
        name="dynamic_shared_unset",
        check="initcheck",
        shared=256,
        inputs={"x": floats(256)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y"),
    ),
    Planted(
        name="dynamic_shared_set",
        shared=256,
        inputs={"x": floats(256)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].reshape(4, 64).sum(axis=0)},
    ),
    Planted(
        name="half_written_tile",
        check="initcheck",
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y"),
    ),
    Planted(
        name="whole_tile",
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": (a["x"] + a["x"][::-1])[:64]},
    ),
    Planted(
        name="three_of_four_bytes",
        check="initcheck",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
    ),
    Planted(
        name="four_of_four_bytes",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
        reference=lambda _: {
            "y": np.arange(64, dtype=np.uint32) * 0x01010101 + np.uint32(0x03020100)
        },
    ),
    Planted(
        name="scratch_with_gaps",
        check="initcheck",
        inputs={"x": floats(32)},
        outputs={"scratch": ("float32", 64), "y": ("float32", 64)},
        arguments=("x", "scratch", "y"),
    ),
    Planted(
        name="scratch_without_gaps",
        inputs={"x": floats(32)},
        outputs={"scratch": ("float32", 64), "y": ("float32", 64)},
        arguments=("x", "scratch", "y"),
        reference=lambda a: {"y": a["x"].repeat(2)},
    ),
    Planted(name="histogram_unset", check="initcheck", **HISTOGRAM),
)

SYNCCHECK = (
    Planted(name="barrier_in_each_arm", check="synccheck", **OUT_64),
    Planted(
        name="barrier_after_arms",
        reference=lambda _: {"y": np.tile([1.0, 2.0], 32)},
        **OUT_64,
    ),
    Planted(name="barrier_of_one_warp", check="synccheck", **OUT_64),
    Planted(name="half_warp_in_syncwarp", check="synccheck", **OUT_32),
    Planted(name="half_warp_mask", reference=lambda _: {"y": np.arange(32)}, **OUT_32),
    Planted(name="half_warp_in_shuffle", check="synccheck", **OUT_32),
    Planted(
        name="half_warp_shuffle_mask",
        reference=lambda _: {"y": np.where(np.arange(32) < 16, 0, np.arange(32))},
        **OUT_32,
    ),
    Planted(name="shuffle_from_inactive_lane", check="synccheck", **OUT_32),
    Planted(
        name="shuffle_from_active_lane",
        reference=lambda _: {
            "y": np.where(np.arange(32) < 16, np.arange(32) ^ 8, np.arange(32))
        },
        **OUT_32,
    ),
    Planted(
        name="shuffle_after_exit",
        check="synccheck",
        block=(32, 1, 1),
        inputs={"x": floats(20)},
        outputs={"y": ("float32", 1)},
        arguments=("x", "y", "int32 20"),
    ),
    Planted(
        name="shuffle_without_exit",
        block=(32, 1, 1),
        inputs={"x": floats(20)},
        outputs={"y": ("float32", 1)},
        arguments=("x", "y", "int32 20"),
        reference=lambda a: {"y": a["x"].sum(keepdims=True)},
    ),
    Planted(
        name="caller_outside_mask",
        check="synccheck",
        block=(32, 1, 1),
        outputs={"y": ("uint32", 32)},
        arguments=("y",),
    ),
    Planted(
        name="caller_inside_mask",
        block=(32, 1, 1),
        outputs={"y": ("uint32", 32)},
        arguments=("y",),
        reference=lambda _: {"y": np.array([0x5555, 0x55550000], np.uint32).repeat(16)},
    ),
    Planted(name="barrier_after_exit", check="synccheck", level="notice", **EXITS),
    Planted(
        name="exit_after_barrier",
        reference=lambda _: {"y": 39 - np.arange(40)},
        **EXITS,
    ),
    Planted(name="barrier_in_branch", check="synccheck", level="notice", **EXITS),
    Planted(
        name="barrier_outside_branch",
        reference=lambda _: {"y": 39 - np.arange(40)},
        **EXITS,
    ),
    Planted(
        name="barrier_reductions",
        grid=(3, 1, 1),
        block=(96, 1, 1),
        inputs={"x": np.repeat([-1, 1, -1, 1], [96, 54, 1, 137]).astype("i4")},
        outputs={
            "count": ("int32", 288),
            "every": ("int32", 288),
            "any": ("int32", 288),
        },
        arguments=("x", "count", "every", "any"),
        reference=barrier_reductions,
    ),
    Planted(
        name="barrier_orders_reduction",
        inputs={"x": integers(64, 0, 9)},
        outputs={"y": ("int32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"][::-1]},
    ),
    Planted(
        name="shuffle_width_8",
        inputs={"x": integers(64, 0, 1000)},
        outputs=dict.fromkeys(("up", "down", "swap", "index"), ("int32", 64)),
        arguments=("x", "up", "down", "swap", "index"),
        reference=shuffles_of_8,
    ),
    Planted(
        name="votes",
        inputs={
            "x": np.append(integers(64, -3, 3), np.repeat([1, -1], 16)).astype("i4")
        },
        block=(96, 1, 1),
        outputs={
            "ballot": ("uint32", 96),
            "any": ("int32", 96),
            "every": ("int32", 96),
        },
        arguments=("x", "ballot", "any", "every"),
        reference=votes,
    ),
    Planted(
        name="active_mask",
        inputs={"x": integers(64, -3, 3), "total": zeros("uint32")},
        arguments=("x", "total"),
    ),
    Planted(
        name="partial_warp",
        block=(48, 1, 1),
        inputs={"x": floats(48)},
        outputs={"y": ("float32", 48)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"][np.arange(48) ^ 1]},
    ),
    Planted(
        name="tile_sums",
        block=(128, 1, 1),
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 16)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].reshape(16, 8).sum(axis=1)},
    ),
    Planted(
        name="tile_sync",
        reference=lambda a: {"y": a["x"][np.arange(64) ^ 31]},
        **IN_AND_OUT_64,
    ),
)

UNDEFINED = (
    Planted(
        name="local_array_overrun",
        check="undefined",
        outputs={"y": ("int32", 64)},
        arguments=("y", "int32 1"),
    ),
    Planted(
        name="local_array_inside",
        outputs={"y": ("int32", 64)},
        arguments=("y", "int32 0"),
        reference=lambda _: {"y": np.tile([1, 2, 3, 4], 16)},
    ),
    Planted(name="shared_array_overrun", check="undefined", **OUT_32),
    Planted(
        name="shared_array_inside",
        reference=lambda _: {"y": np.full(32, 3.0)},
        **OUT_32,
    ),
    Planted(name="shared_row_overrun", check="undefined", **OUT_32),
    Planted(
        name="int_overflow",
        check="undefined",
        outputs={"y": ("int64", 64)},
        arguments=("y", "int32 100000000"),
    ),
    Planted(
        name="int64_product",
        outputs={"y": ("int64", 64)},
        arguments=("y", "int32 100000000"),
        reference=lambda _: {"y": np.arange(64, dtype=np.int64) * 100_000_000},
    ),
    Planted(
        name="wide_shift",
        check="undefined",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
    ),
    Planted(
        name="narrow_shift",
        outputs={"y": ("uint32", 64)},
        arguments=("y",),
        reference=lambda _: {"y": np.tile(1 << np.arange(32), 2)},
    ),
    Planted(
        name="float_to_int_range",
        check="undefined",
        inputs={"x": np.append(floats(63), np.float32(1e20))},
        outputs={"y": ("int32", 64)},
        arguments=("x", "y"),
    ),
    Planted(
        name="float_to_int_clamped",
        inputs={"x": np.append(floats(63), np.float32(1e20))},
        outputs={"y": ("int32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": np.trunc(np.clip(a["x"], -1e6, 1e6))},
    ),
)

CLEAN = (
    Planted(name="softmax_shuffle", **SOFTMAX),
    Planted(name="softmax_dynamic", shared=1024, **SOFTMAX),
    Planted(
        name="warp_sums",
        grid=(2, 1, 1),
        block=(96, 1, 1),
        inputs={"x": floats(192)},
        outputs={"y": ("float32", 6)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].reshape(6, 32).sum(axis=1)},
    ),
    Planted(
        name="transpose_padded",
        grid=(3, 2, 1),
        block=(16, 16, 1),
        inputs={"x": floats(20 * 37)},
        outputs={"y": ("float32", 20 * 37)},
        arguments=("x", "y", "int32 20", "int32 37"),
        reference=lambda a: {"y": a["x"].reshape(20, 37).T.ravel()},
    ),
    Planted(
        name="constant_table",
        reference=lambda a: {"y": a["x"] * 2.0 ** (np.arange(100) % 8)},
        **DIFFERENCES,
    ),
    Planted(
        name="device_table",
        reference=lambda a: {"y": a["x"][::-1]},
        **IN_AND_OUT_64,
    ),
    Planted(
        name="pointer_helper",
        inputs={"x": floats(50 * 33), "weights": floats(33, seed=19)},
        outputs={"y": ("float32", 50)},
        arguments=("x", "weights", "y", "int32 50", "int32 33"),
        reference=lambda a: {"y": a["x"].reshape(50, 33) @ a["weights"]},
    ),
    Planted(
        name="local_array_by_pointer",
        inputs={"x": floats(320)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": np.median(a["x"].reshape(64, 5), axis=1)},
    ),
    Planted(
        name="dynamic_shared_split",
        shared=512,
        inputs={"x": floats(64)},
        outputs={"y": ("float32", 64)},
        arguments=("x", "y", "int32 64"),
        reference=lambda a: {"y": a["x"][::-1]},
    ),
    Planted(
        name="grid_stride",
        grid=(3, 1, 1),
        inputs={"x": floats(1000)},
        outputs={"y": ("float32", 1000)},
        arguments=("x", "y", "int32 1000"),
        reference=lambda a: {"y": 2 * a["x"]},
    ),
    Planted(
        name="block_3d",
        grid=(3, 2, 2),
        block=(8, 3, 2),
        inputs={"x": floats(3 * 5 * 20)},
        outputs={"y": ("float32", 3 * 5 * 20)},
        arguments=("x", "y", "int32 3", "int32 5", "int32 20"),
        reference=lambda a: {
            "y": (
                a["x"].reshape(15, 20)
                + a["x"].reshape(15, 20)[:, np.arange(20) // 8 * 8]
            ).ravel()
        },
    ),
    Planted(
        name="half2_axpy",
        headers=True,
        inputs={
            "x": floats(128).astype(np.float16),
            "y": floats(128, seed=19).astype(np.float16),
        },
        outputs={"sum": ("float16", 128)},
        arguments=("x", "y", "sum", "float32 1.5", "int32 64"),
        reference=lambda a: {"sum": np.float16(1.5) * a["x"] + a["y"]},
    ),
    Planted(
        name="bfloat16_scale",
        headers=True,
        inputs={"x": bfloat16(floats(100))},
        outputs={"y": ("uint16", 100)},
        arguments=("x", "y", "float32 0.5", "int32 100"),
        grid=(2, 1, 1),
        reference=lambda _: {"y": bfloat16(floats(100) / 2)},
    ),
)

ATOMIC = {"outputs": {"y": ("int32", 64)}, "arguments": ("y",)}
PAIRS = {
    "inputs": {"x": floats(64)},
    "outputs": {"y": ("float32", 2)},
    "arguments": ("x", "y"),
}
PARTIAL = {
    "grid": (4, 1, 1),
    "inputs": {"x": floats(8)},
    "outputs": {"partial": ("float32", 8), "y": ("float32", 1)},
    "arguments": ("x", "partial", "y"),
}
LOCK = {"grid": (2, 1, 1), "inputs": {"total": zeros("int32")}, "arguments": ("total",)}
BYTES = {"outputs": {"y": ("uint8", 64)}, "arguments": ("y",)}

ORDER = (
    Planted(name="byte_broadcast_unsynced", check="racecheck", **BYTES),
    Planted(
        name="byte_broadcast_synced",
        reference=lambda _: {"y": np.ones(64)},
        **BYTES,
    ),
    Planted(name="atomic_after_store_unsynced", check="racecheck", **ATOMIC),
    Planted(
        name="atomic_after_store_synced",
        reference=lambda _: {"y": np.full(64, 64)},
        **ATOMIC,
    ),
    Planted(name="struct_sum_unsynced", check="racecheck", **PAIRS),
    Planted(
        name="struct_sum_synced",
        reference=lambda a: {"y": np.array([a["x"].sum(), 64.0])},
        **PAIRS,
    ),
    Planted(name="fence_before_store", check="racecheck", **PARTIAL),
    Planted(
        name="fence_after_store",
        reference=lambda a: {"y": a["x"][:4].sum(keepdims=True)},
        **PARTIAL,
    ),
    Planted(name="lock_unfenced", check="racecheck", **LOCK),
    Planted(name="lock_fenced", **LOCK),
    Planted(
        name="last_warp",
        reference=lambda a: {"y": a["x"].sum(keepdims=True)},
        **PARTIAL,
    ),
    Planted(
        name="union_in_shared",
        inputs={"x": floats(64)},
        outputs={"y": ("int32", 64)},
        arguments=("x", "y"),
        reference=lambda a: {"y": a["x"].view(np.int32)[::-1]},
    ),
    Planted(
        name="shared_by_macro",
        inputs={"x": floats(128)},
        outputs={"y": ("float32", 128)},
        arguments=("x", "y"),
        grid=(2, 1, 1),
        reference=lambda a: {"y": a["x"].reshape(2, 64)[:, ::-1].ravel()},
    ),
    Planted(
        name="poll_while_shuffle",
        inputs={"flag": zeros("int32")},
        outputs={"y": ("int32", 64)},
        arguments=("flag", "y"),
    ),
)

PLANTED: tuple[Planted, ...] = (
    *MEMCHECK,
    *RACECHECK,
    *ORDER,
    *INITCHECK,
    *SYNCCHECK,
    *UNDEFINED,
    *CLEAN,
)
