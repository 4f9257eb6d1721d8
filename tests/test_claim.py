import json
from dataclasses import replace

import pytest
import yaml

import mutation
from conftest import ROOT
from fivegates import claim as claims
from fivegates.claim import (
    Claim,
    cases,
    launch,
    require_bound,
    require_capacity,
    required_bytes,
    rotation_slots,
    slot_bytes,
)
from fivegates.errors import ClaimError
from trees import V1_SUPPORTED, V2_SUPPORTED, views

H200_L2, H200_MEMORY = 60 * 2**20, 139 * 2**30
WORKLOADS = [
    (path.stem, workload)
    for path in sorted(ROOT.glob("config/claims/*.yaml"))
    for workload in yaml.safe_load(path.read_text()).get("workloads", [""])
]


def test_triad_claim_is_what_the_gates_are_told(claim, triad):
    require_bound(claim, triad)
    assert claim.workload.sizes == {"n": 1_000_003}
    assert (claim.tolerance.atol, claim.tolerance.rtol) == (2e-6, 2e-5)
    assert claim.margin == 0.01
    assert slot_bytes(claim, triad) == 12_000_036


def test_timed_size_is_checked_with_all_seeds_and_generators(claim, triad):
    timed = [c for c in cases(claim, triad) if c.sizes == claim.workload.sizes]
    assert {(c.generator, c.seed) for c in timed} == {
        (generator, seed) for generator in ("lab", "wide") for seed in (7, 19, 101)
    }


def test_sizes_lie_below_on_and_above_a_block(claim, triad):
    sizes = {case.sizes["n"] for case in cases(claim, triad)}
    assert sizes == {0, 1, 255, 256, 257, 1_000_003}


def test_rotation_exceeds_twice_the_reported_l2(claim, triad):
    slots = rotation_slots(claim, triad, H200_L2)
    assert slots == 12
    assert slots * slot_bytes(claim, triad) > 2 * H200_L2


@pytest.mark.parametrize(("name", "workload"), WORKLOADS)
def test_committed_claim_can_be_timed_on_an_h200(name, workload):
    claim = mutation.frozen(name, workload)
    operation = mutation.contract(claim.operation, claim.workload.dtype)
    require_capacity(claim, operation, l2_bytes=H200_L2, memory_bytes=H200_MEMORY)


def test_same_buffer_has_one_slot(freeze, document, triad):
    document["workload"]["cache_regime"] = "same-buffer"
    assert rotation_slots(freeze(document), triad, H200_L2) == 1


def test_what_is_swept_is_counted_in_the_memory(freeze, document, triad):
    document["workload"]["cache_regime"] = "same-buffer"
    same = required_bytes(freeze(document), triad, H200_L2)
    document["workload"]["cache_regime"] = "swept"
    assert required_bytes(freeze(document), triad, H200_L2) == same + 2 * H200_L2


def test_declared_slots_are_kept(freeze, document, triad):
    document["workload"]["rotation_slots"] = 3
    assert rotation_slots(freeze(document), triad, H200_L2) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"x_pitch": 1002},
            "views gives x strides (1002, 1) for shape (1000, 1003): elements overlap, "
            "expected a place of its own for each",
        ),
        (
            {"y_pitch": 0},
            "views gives y strides (0, 1) for shape (1003, 1000): elements overlap, "
            "expected a place of its own for each",
        ),
        ({"rows": 0}, "x has no element, expected at least 1"),
    ],
)
def test_sizes_that_lay_out_badly_are_refused(changed, message):
    claim = mutation.frozen("transpose-views-tiled")
    sizes = {**claim.workload.sizes, **changed}
    changed = replace(claim, workload=replace(claim.workload, sizes=sizes))
    said = ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))
    with pytest.raises(ClaimError) as raised:
        require_bound(changed, mutation.contract("transpose_views", "float32"))
    assert str(raised.value) == f"workload.sizes is {said}: {message}"


def test_sizes_that_the_contract_refuses_are_one_error():
    claim = mutation.frozen("compact-block")
    changed = replace(
        claim, workload=replace(claim.workload, sizes={"n": 3, "kept": 4})
    )
    with pytest.raises(ClaimError) as raised:
        require_bound(changed, mutation.contract("compact", "float32"))
    assert str(raised.value) == (
        "workload.sizes is kept=4, n=3: kept is 4, expected at most n, 3"
    )


def test_pointer_of_a_view_starts_at_its_first_element():
    claim = mutation.frozen("transpose-views-tiled")
    operation = mutation.contract("transpose_views", "float32")
    x, y, *_ = launch(claim, operation, "candidate", claim.workload.sizes).arguments
    assert (x.value, y.value) == (4 * 1, 4 * 3077)
    allocated = 4 * (1 + 999 * 1027 + 1003) + 4 * (3077 + 1002 * 1024 + 1000)
    assert slot_bytes(claim, operation) == allocated


@pytest.mark.parametrize(
    ("regime", "slots", "message"),
    [
        (
            "buffer-rotated",
            1,
            "workload.rotation_slots is 1, expected at least 2 or none for "
            "cache_regime 'buffer-rotated'",
        ),
        (
            "same-buffer",
            2,
            "workload.rotation_slots is 2, expected 1 or none for "
            "cache_regime 'same-buffer'",
        ),
        (
            "swept",
            2,
            "workload.rotation_slots is 2, expected 1 or none for cache_regime 'swept'",
        ),
    ],
)
def test_slots_that_contradict_the_regime_are_refused(
    freeze, document, regime, slots, message
):
    document["workload"] |= {"cache_regime": regime, "rotation_slots": slots}
    with pytest.raises(ClaimError) as error:
        freeze(document)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["workload"].update(sizes={"rows": 4}),
            "workload.sizes has rows, expected n",
        ),
        (
            lambda d: d["workload"].update(dtype="float16"),
            "workload.dtype is 'float16', expected float32, DTYPES of "
            "kernels/triad/operation.py",
        ),
        (
            lambda d: d["candidate"].update(grid=[0]),
            "candidate.grid is ['0']: 0 blocks at the timed sizes, expected at least 1",
        ),
        (
            lambda d: d["baseline"].update(arguments=["x", "z", "uint64 n"]),
            "baseline.arguments does not pass y, "
            "expected every output of the operation",
        ),
        (
            lambda d: d["candidate"].update(grid=["n - 257"]),
            "candidate.grid is ['n - 257']: -257 blocks, expected 0 to 2147483647",
        ),
    ],
)
def test_claim_that_does_not_fit_its_contract_is_refused(
    freeze, document, triad, change, message
):
    change(document)
    with pytest.raises(ClaimError) as error:
        require_bound(freeze(document), triad)
    assert str(error.value) == message


def test_memory_is_refused_before_any_of_it_is_asked_for(freeze, document, triad):
    document["workload"]["sizes"] = {"n": 10**12}
    huge = freeze(document)
    with pytest.raises(ClaimError) as error:
        require_capacity(huge, triad, l2_bytes=H200_L2, memory_bytes=150 * 10**9)
    needed = required_bytes(huge, triad, H200_L2)
    # Two slots of three operands, and five sets of values with y and its tolerance in
    # float64.
    assert claims.VALUE_SETS == 5
    assert needed == 2 * 12 * 10**12 + 5 * 28 * 10**12
    assert str(error.value) == (
        f"workload.sizes is n=1000000000000: needs {needed} bytes of memory, "
        "expected at most 150000000000"
    )


def test_buffers_too_small_to_rotate_are_refused(freeze, document, triad):
    document["workload"]["sizes"] = {"n": 1003}
    small = freeze(document)
    with pytest.raises(ClaimError) as error:
        require_capacity(small, triad, l2_bytes=H200_L2, memory_bytes=10**12)
    assert str(error.value) == (
        "workload.cache_regime is 'buffer-rotated': 10456 slots exceed twice the L2 of "
        "62914560 bytes, expected at most 256. Rotate larger sizes or claim "
        "'same-buffer'"
    )
    document["workload"]["cache_regime"] = "same-buffer"
    require_capacity(freeze(document), triad, l2_bytes=H200_L2, memory_bytes=10**12)


@pytest.mark.parametrize("regime", ["buffer-rotated", "swept"])
def test_cold_start_has_one_regime(freeze, document, regime):
    document["workload"] |= {"boundary": "cold-start", "cache_regime": regime}
    with pytest.raises(ClaimError) as error:
        freeze(document)
    assert str(error.value) == (
        f"workload.cache_regime is {regime!r}, expected 'same-buffer' for boundary "
        "'cold-start': its one launch finds what a fresh process finds"
    )


def test_rotation_that_names_too_few_slots_is_refused(freeze, document, triad):
    document["workload"]["rotation_slots"] = 3
    few = freeze(document)
    with pytest.raises(ClaimError) as error:
        require_capacity(few, triad, l2_bytes=H200_L2, memory_bytes=10**12)
    assert str(error.value) == (
        "workload.rotation_slots is 3: a working set of 36000108 bytes, expected more "
        "than 125829120, twice the L2"
    )


def test_kind_is_spelled_as_messages_and_receipts_spell_it(claim):
    assert str(claim.workload.kind) == "device/buffer-rotated"


def test_claims_of_both_versions_are_read():
    found = {
        name: Claim.from_dict(json.loads((views(name) / "claim.json").read_text()))
        for name in (V1_SUPPORTED, V2_SUPPORTED)
    }
    first, second = found[V1_SUPPORTED], found[V2_SUPPORTED]
    assert (first.version, second.version) == (1, 2)
    assert first.policy.timing.single_samples == 0
    assert first.policy.timing.warmup_cap_s == 0
    assert second.policy.timing.single_samples > 0
    assert second.policy.timing.warmup_cap_s > 0


def test_role_names_are_the_only_arms(claim):
    assert tuple(claim.arms) == claims.ROLES == ("baseline", "candidate")
