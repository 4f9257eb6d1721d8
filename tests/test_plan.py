"""The plan of a session is drawn from its claim; raw files must be those it plans."""

import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivegates.claim import Claim
from fivegates.errors import ArtifactError
from fivegates.plan import (
    BLOCK_COLUMNS,
    PAIRED,
    PARTS,
    ROLES_OF,
    SAMPLE_COLUMNS,
    comparisons,
    document,
    draw,
    expected_blocks,
    is_batched,
    launches_of,
    parse_blocks,
    parse_samples,
    plan,
    poisoned_samples,
)
from fivegates.store import canonical, sha256
from simulated import DIGEST, Laws, Simulation, derived, to_csv
from trees import RECEIPTS, V2_SUPPORTED

EVERY = {"floor": 8, "control": 8, "single": 2}
ALL = comparisons("device")
PAIRS = ("main", "null")


def steps(rounds):
    return [step for item in rounds for step in item.steps]


@pytest.fixture
def few(policy):
    """A policy of few rounds, for what is tried in raw files."""
    policy["timing"]["rounds"] = 8
    return policy


@pytest.fixture
def simulation(few, freeze, document):
    return Simulation(freeze(document), Laws())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_plan_of_a_claim_never_changes(number):
    """The sessions of this claim on an H200 had these plans."""
    folder = RECEIPTS / V2_SUPPORTED / "triad-vec4"
    frozen = (folder / "claim.json").read_bytes()
    claim = Claim.from_dict(json.loads(frozen))
    planned = folder / "timing" / f"s{number:02d}.raw" / "plan.json"
    assert canonical(document(claim, sha256(frozen), number)) == planned.read_bytes()


def test_plan_follows_from_the_claim_and_the_number_of_the_session(claim):
    assert plan(claim, DIGEST, 1) == plan(claim, DIGEST, 1)
    other = DIGEST.replace("c6", "d6", 1)
    drawn = [plan(claim, DIGEST, n) for n in (1, 2, 3)] + [plan(claim, other, 1)]
    assert len({repr(item) for item in drawn}) == 4
    assert (
        len({item.placement for rounds in drawn for item in rounds})
        == 4 * claim.policy.timing.rounds
    )


@settings(deadline=None)
@given(st.text(max_size=9), st.integers(8, 49))
def test_half_of_the_rounds_are_abba_and_half_baab(seed, rounds):
    drawn = draw(seed, ALL, rounds=rounds, batches=4, singles=5, every=EVERY)
    assert [item.round for item in drawn] == list(range(rounds))
    for name in PAIRS:
        paired = [step for step in steps(drawn) if step.comparison == name]
        assert [step.round for step in paired] == list(range(rounds))
        opened = Counter(step.blocks[0] for step in paired)
        assert opened[ROLES_OF[name][1]] == rounds // 2
        for step in paired:
            a, b = step.blocks[:2]
            assert step.blocks == (a, b, b, a)
            assert {a, b} == set(step.loads) == set(ROLES_OF[name])


@pytest.mark.parametrize("name", PAIRED)
def test_each_role_stands_equally_often_in_every_place(name):
    rounds = draw("x", [name], rounds=48, batches=4, singles=5, every=EVERY)
    places = Counter((k, r) for s in steps(rounds) for k, r in enumerate(s.blocks))
    assert set(places.values()) == {24}
    assert len(places) == 8


def test_order_of_the_rounds_is_drawn_and_not_in_turn():
    rounds = draw("x", ["main"], rounds=48, batches=4, singles=5, every=EVERY)
    opened = [step.blocks[0] for step in steps(rounds)]
    assert opened not in ([*ROLES_OF["main"]] * 24, [*ROLES_OF["main"][::-1]] * 24)
    assert 12 < sum(a != b for a, b in pairwise(opened)) < 36


@pytest.mark.parametrize("name", ROLES_OF)
def test_every_order_of_loads_and_of_comparisons_is_drawn(name):
    rounds = draw("x", [name, "main"], rounds=960, batches=4, singles=5, every=EVERY)
    loads = Counter(s.loads for s in steps(rounds) if s.comparison == name)
    roles = len(ROLES_OF[name])
    if roles < 4:
        assert len(loads) == {2: 2, 3: 6}[roles]
    assert len(loads) >= 2
    both = {
        tuple(s.comparison for s in item.steps)
        for item in rounds
        if len(item.steps) > 1
    }
    assert name == "main" or both == {(name, "main"), ("main", name)}


def test_sample_behind_the_poison_is_any_of_its_block():
    rounds = draw("x", ALL, rounds=96, batches=4, singles=5, every=EVERY)
    drawn = {(s.samples, sample) for s in steps(rounds) for sample in s.poisoned}
    assert drawn == {(n, k) for n in (4, 5) for k in range(n)}
    assert all(len(step.poisoned) == len(step.blocks) for step in steps(rounds))
    places = poisoned_samples(rounds)
    assert len(places) == 2 * 4 * 96
    assert {name for name, _, _ in places} == set(PAIRS)


@settings(deadline=None)
@given(st.integers(8, 64))
def test_comparisons_are_made_every_so_many_rounds(rounds):
    drawn = draw("x", ALL, rounds=rounds, batches=4, singles=5, every=EVERY)
    made = Counter(step.comparison for step in steps(drawn))
    assert made == {name: -(-rounds // EVERY.get(name, 1)) for name in ALL}


@pytest.mark.parametrize(
    ("boundary", "regime", "batched", "lacking"),
    [
        ("device", "buffer-rotated", True, set()),
        ("device", "same-buffer", True, set()),
        ("device", "swept", False, set()),
        ("launch", "buffer-rotated", False, {"single"}),
        ("graph", "buffer-rotated", False, {"single"}),
        ("end-to-end", "swept", False, {"single"}),
        ("cold-start", "same-buffer", False, {"single", "repeat", "control"}),
    ],
)
def test_kind_decides_what_a_sample_is(
    freeze, document, policy, boundary, regime, batched, lacking
):
    document["workload"] |= {"boundary": boundary, "cache_regime": regime}
    claim = freeze(document)
    assert is_batched(claim.workload.kind) is batched
    assert set(ALL) - set(comparisons(boundary)) == lacking
    samples = policy["timing"]["samples" if batched else "single_samples"]
    samples = 1 if boundary == "cold-start" else samples
    rounds = plan(claim, DIGEST, 1)
    assert {s.samples for s in steps(rounds) if s.comparison == "main"} == {samples}
    assert [launches_of(n, 24) for n in ("main", "floor", "single", "control")] == [
        24,
        24,
        1,
        12,
    ]


def test_parts_of_a_cold_start_lie_behind_each_block_of_the_arms():
    rounds = draw("x", ["main", "null"], rounds=8, batches=1, singles=1, every=EVERY)
    names = [block[0] for block in expected_blocks(rounds, PARTS)]
    assert Counter(names) == dict.fromkeys(["main", "null", *PARTS], 32)
    assert all(names[k + 1 : k + 4] == [*PARTS] for k, n in enumerate(names)
               if n == "main")  # fmt: skip


def expected_samples(simulation):
    return [tuple(row[:6]) for row in simulation.samples]


def expected_places(simulation):
    return [tuple(row[:4]) for row in simulation.blocks]


def test_raw_files_are_read_as_they_were_written(simulation):
    read = parse_samples(
        simulation.raw["samples.csv"], expected_samples(simulation), "samples.csv"
    )
    assert [sample.elapsed_us for sample in read] == [
        row[-1] for row in simulation.samples
    ]
    blocks = parse_blocks(
        simulation.raw["blocks.csv"], expected_places(simulation), "blocks.csv"
    )
    assert [[b.begin_s, b.end_s, b.sm_clock_mhz] for b in blocks] == [
        row[4:] for row in simulation.blocks
    ]


def first_cells(rows, index, count):
    return [str(cell) for cell in rows[index][:count]]


@pytest.mark.parametrize("kind", ["samples", "blocks"])
@pytest.mark.parametrize("how", ["dropped", "reversed", "exchanged", "columns"])
def test_raw_file_out_of_plan_is_refused(simulation, kind, how):
    rows = getattr(simulation, kind)
    columns, parse, expected, width = {
        "samples": (SAMPLE_COLUMNS, parse_samples, expected_samples(simulation), 6),
        "blocks": (BLOCK_COLUMNS, parse_blocks, expected_places(simulation), 4),
    }[kind]
    changed = {
        "dropped": rows[:-1],
        "reversed": rows[::-1],
        "exchanged": [rows[0], rows[2], rows[1], *rows[3:]],
        "columns": rows,
    }[how]
    place, found = {"reversed": (0, -1), "exchanged": (1, 2)}.get(how, (0, 0))
    head = columns[:-1] if how == "columns" else columns
    messages = {
        "dropped": f"f: {len(rows) - 1} {kind}, expected {len(rows)}",
        "columns": f"f: columns are {list(head)}, expected {columns}",
    }
    wrong = f"f: row {place + 2}: {first_cells(rows, found, width)}, expected "
    wrong += f"{rows[place][:width]}"
    with pytest.raises(ArtifactError) as error:
        parse(to_csv(head, changed), expected, "f")
    assert str(error.value) == messages.get(how, wrong)


@pytest.mark.parametrize(
    "value", ["0.0", "-1.5", "nan", "inf", "-inf", "", "fast", "1e999", "[N/A]"]
)
@pytest.mark.parametrize(
    ("kind", "column"), [("samples", 6), ("blocks", 4), ("blocks", 5), ("blocks", 6)]
)
def test_number_must_be_finite_and_positive(simulation, kind, column, value):
    rows = [list(row) for row in getattr(simulation, kind)]
    rows[1][column] = value
    columns, parse, expected = {
        "samples": (SAMPLE_COLUMNS, parse_samples, expected_samples(simulation)),
        "blocks": (BLOCK_COLUMNS, parse_blocks, expected_places(simulation)),
    }[kind]
    text = to_csv(columns, rows)
    if (column, value) == (6, "") and kind == "blocks":
        assert parse(text, expected, "f")[1].sm_clock_mhz is None
        return
    with pytest.raises(ArtifactError) as error:
        parse(text, expected, "f")
    assert str(error.value) == (
        f"f: row 3: {columns[column]} is {value!r}, expected a positive finite number"
    )


@pytest.mark.parametrize(
    ("begin", "end"),
    [(1.0004, 1.002), (1.003, 1.002)],
    ids=["overlaps", "ends before it begins"],
)
def test_blocks_lie_one_after_another(simulation, begin, end):
    rows = [list(row) for row in simulation.blocks]
    last = rows[0][5]
    rows[1][4:6] = begin, end
    with pytest.raises(ArtifactError) as error:
        parse_blocks(to_csv(BLOCK_COLUMNS, rows), expected_places(simulation), "f")
    assert str(error.value) == (
        f"f: row 3: from {begin} to {end} s, expected after {last} s"
    )


@pytest.mark.parametrize(
    ("begin", "refused"),
    [
        (1.6, True),
        (2.1, False),
    ],
    ids=["before the block ended", "behind it"],
)
def test_parts_of_a_cold_start_lie_inside_their_block(begin, refused):
    places = [("main", 0, 0, "baseline"), ("context", 0, 0, "baseline")]
    places += [("main", 0, 1, "candidate")]
    times = [(1.0, 2.0), (1.1, 1.5), (begin, 3.0)]
    rows = [[*p, *t, ""] for p, t in zip(places, times, strict=True)]
    text = to_csv(BLOCK_COLUMNS, rows)
    if not refused:
        assert len(parse_blocks(text, places, "f")) == 3
        return
    with pytest.raises(ArtifactError) as error:
        parse_blocks(text, places, "f")
    assert str(error.value) == "f: row 4: from 1.6 to 3.0 s, expected after 2.0 s"


@pytest.mark.parametrize("cells", [6, 8], ids=["too short", "too long"])
@pytest.mark.parametrize("kind", ["samples", "blocks"])
def test_row_of_another_length_is_refused(simulation, kind, cells):
    """Of a row cut behind `launches` the launches would be the time."""
    row = [*getattr(simulation, kind)[0], 1.0][:cells]
    columns, parse, width = {
        "samples": (SAMPLE_COLUMNS, parse_samples, 6),
        "blocks": (BLOCK_COLUMNS, parse_blocks, 4),
    }[kind]
    with pytest.raises(ArtifactError, match=r"^f: row 2: "):
        parse(to_csv(columns, [row]), [tuple(row[:width])], "f")


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan.update(session=2),
        lambda plan: plan["rounds"].pop(),
        lambda plan: plan["rounds"][0].update(placement=7),
        lambda plan: plan["rounds"][3]["steps"][0].update(
            blocks=[*plan["rounds"][3]["steps"][0]["blocks"][::-1], "x"]
        ),
        lambda plan: plan["policy"].update(rounds=12),
        lambda plan: plan.update(stop="when the interval is narrow"),
    ],
    ids=["session", "round", "placement", "order", "policy", "stop rule"],
)
def test_edited_plan_is_refused(simulation, change):
    edited = json.loads(simulation.raw["plan.json"])
    change(edited)
    with pytest.raises(ArtifactError) as error:
        derived(simulation, {"plan.json": json.dumps(edited)})
    assert str(error.value) == "timing/s01/plan.json: not the plan of its claim"


def test_session_must_have_read_the_plan_that_is_kept(simulation):
    facts = {**simulation.facts(), "plan_sha256": "0" * 64}
    with pytest.raises(ArtifactError) as error:
        derived(simulation, facts=facts)
    assert str(error.value) == ("timing/s01: measured by another plan than plan.json")


def test_comparison_that_skips_rounds_is_balanced_in_its_own():
    rounds = draw("x", ALL, rounds=72, batches=4, singles=5, every={"null": 2})
    null = [step for step in steps(rounds) if step.comparison == "null"]
    assert [step.round for step in null] == list(range(0, 72, 2))
    assert Counter(step.blocks[0] for step in null) == {"baseline": 18, "again": 18}
