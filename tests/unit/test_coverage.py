"""Which states runs reached: what is possible, how a series is summed up, what is printed of it."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from contract.coverage import (
    IMPOSSIBLE,
    NO_COMMIT,
    UNKNOWN,
    VALUES,
    Pair,
    RunCoverage,
    Seen,
    State,
    coverage_of,
    hash_of,
    is_possible,
    possible_pairs,
    read_coverage,
    write_coverage,
)
from contract.described import SCHEMA
from tests.conftest import Fencepost
from tests.states import STATE


def state(**values: str) -> State:
    return State(**{**STATE.values, **values})


def reached(*states: State) -> RunCoverage:
    seen = [
        Seen(state=one, events=events, groups=["g"], pairs=1, first_micros=7)
        for events, one in enumerate(states, start=1)
    ]
    return RunCoverage(schema=SCHEMA, states=seen)


def test_a_state_has_the_declared_dimensions_in_order() -> None:
    assert list(STATE.values) == list(VALUES)
    assert all(UNKNOWN not in values for values in VALUES.values())
    assert STATE.is_known
    assert not state(gap=UNKNOWN).is_known


def test_impossible_pairs_are_of_values_that_exist_and_have_a_reason() -> None:
    for one in IMPOSSIBLE:
        assert one.value in VALUES[one.first]
        assert set(one.others) <= {*VALUES[one.second]}
        assert one.why
    every = [pair for one in IMPOSSIBLE for pair in one.pairs]
    names = list(VALUES)
    assert all(names.index(pair.first) < names.index(pair.second) for pair in every)


def test_possible_pairs_are_all_but_those() -> None:
    sizes = [len(values) for values in VALUES.values()]
    every = sum(a * b for at, a in enumerate(sizes) for b in sizes[at + 1 :])
    impossible = {pair for one in IMPOSSIBLE for pair in one.pairs}
    assert len(possible_pairs()) == every - len(impossible)
    assert Pair("leader", "none", "isr", "shrunk") not in possible_pairs()
    assert Pair("leader", "none", "isr", "below") in possible_pairs()


def test_a_group_without_a_commit_has_none_in_each_dimension() -> None:
    of_commit = ("gap", "log_start", "record", "coordinator")
    assert is_possible(state(**dict.fromkeys(of_commit, NO_COMMIT)))
    assert not any(is_possible(state(**{name: NO_COMMIT})) for name in of_commit)


@pytest.fixture
def series(tmp_path: Path) -> dict[str, tuple[Path, RunCoverage | None]]:
    """Two random runs of different plans, one of a suite, and one whose states are not known."""
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):
        (tmp_path / name / "random.json").write_text(json.dumps({"seed": name}))
    return {
        "b": (tmp_path / "b", reached(STATE, state(gap="1"))),
        "a": (tmp_path / "a", reached(state(gap="1"), state(isr=UNKNOWN, members="more"))),
        "c": (tmp_path / "c", reached(state(gap="1"))),
        "d": (tmp_path / "d", None),
    }


def test_a_series_has_each_state_with_its_runs_and_plans(
    series: dict[str, tuple[Path, RunCoverage | None]],
) -> None:
    found = coverage_of(series)
    assert (found.runs, found.without) == (3, ["d"])
    by_state = {one.state: one for one in found.states}
    moved = by_state[state(gap="1")]
    assert (moved.events, moved.runs) == (2 + 1 + 1, ["a", "b", "c"])
    hashes = {name: hash_of(json.dumps({"seed": name}).encode()) for name in ("a", "b")}
    assert moved.plans == sorted(hashes.values())
    assert found.plans == {hashes[name]: {"seed": name} for name in ("a", "b")}
    assert {one.state for one in found.known} == {STATE, state(gap="1")}
    assert ("members", "more") not in found.values_never_seen
    assert ("members", "0") in found.values_never_seen
    assert ("isr", UNKNOWN) not in found.values_never_seen
    assert Pair("leader", "led", "members", "more") in found.pairs_seen
    assert not any(UNKNOWN in pair for pair in found.pairs_seen)
    assert Pair("isr", "full", "members", "more") in found.pairs_never_seen


def test_the_order_of_runs_decides_nothing_and_a_snapshot_is_read_again(
    series: dict[str, tuple[Path, RunCoverage | None]], tmp_path: Path
) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file, names in zip(files, ("abcd", "dcba"), strict=True):
        write_coverage(file, coverage_of({name: series[name] for name in names}))
    first, second = (file.read_bytes() for file in files)
    assert first == second
    again = read_coverage(files[0])
    assert again == coverage_of(series)
    assert all(one.state < other.state for one, other in pairwise(again.states))


@pytest.mark.extended
def test_the_command_names_what_was_never_reached(tmp_path: Path, fencepost: Fencepost) -> None:
    run = tmp_path / "results" / "run"
    fencepost("generate", str(run), "--seed", "3", "--events", "2000")
    shown = fencepost("coverage", str(tmp_path / "results")).stdout
    assert "1 run reached " in shown
    assert "Values that no run reached: " in shown
    assert "Values that no run reached: " in shown
    snapshot = read_coverage(tmp_path / "results" / "coverage.json")
    assert (snapshot.runs, snapshot.plans) == (1, {})
    out = tmp_path / "snapshot.json"
    found = json.loads(
        fencepost("coverage", str(tmp_path / "results"), "--out", str(out), "--json").stdout
    )
    assert out.read_bytes() == (tmp_path / "results" / "coverage.json").read_bytes()
    assert found["pairs_possible"] == len(possible_pairs())
    assert len(found["pairs_never_seen"]) == len(snapshot.pairs_never_seen)
    refused = fencepost("coverage", str(run))
    assert refused.returncode == 64
    assert "is in the folder of the run" in refused.stderr
