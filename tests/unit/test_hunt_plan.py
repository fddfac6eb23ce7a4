"""The rounds of a hunt follow from the seed, and leave nothing and nobody away."""

from itertools import islice
from random import Random

import pytest

from scenarios.coordinator_hunt_test import CHANGES, GROUPS, faults, is_assigned, is_unstable
from scenarios.hunt import KEPT, Departure, End, Move, Round, Shape, rounds

SHAPE = Shape(brokers=(1, 2), groups=8, members=6, workers=range(1, 3), partitions=20)


def drawn(seed: int, number: int = 200) -> list[Round]:
    return list(islice(rounds(Random(seed), SHAPE), number))


def test_a_seed_is_a_story() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1)[:20] == drawn(1, 20), "a longer story begins like a shorter one"
    assert drawn(1) != drawn(2)


def test_whoever_leaves_returns() -> None:
    for turn in drawn(3):
        assert turn.moves.index(Move.LEAVE) < turn.moves.index(Move.RETURN)
        assert turn.moves.index(Move.DOWN) < turn.moves.index(Move.UP)
        assert turn.moves.count(Move.WRITE) == turn.is_quiet
        assert turn.moves.count(Move.ELECT) == len(turn.elected)
        assert turn.moves.count(Move.DELETE) == len(turn.kept)


def test_rounds_act_on_what_is_there() -> None:
    for turn in drawn(4):
        assert turn.broker in SHAPE.brokers
        assert turn.worker in SHAPE.workers
        assert 1 <= min(turn.members) <= max(turn.members) <= SHAPE.members
        assert len(turn.members) < SHAPE.members, "somebody stays in the group"
        assert max(turn.groups) < SHAPE.groups
        assert all(0 <= number < SHAPE.partitions for some in turn.elected for number in some)


@pytest.mark.parametrize("seed", range(5))
def test_all_that_can_happen_does(seed: int) -> None:
    some = drawn(seed)
    assert {turn.departure for turn in some} == set(Departure)
    assert {turn.end for turn in some} == set(End)
    assert {turn.is_quiet for turn in some} == {True, False}
    assert {kept for turn in some for kept in turn.kept} == set(KEPT)
    during = [
        turn.moves.index(Move.LEAVE) < turn.moves.index(Move.ELECT) < turn.moves.index(Move.RETURN)
        for turn in some
    ]
    assert True in during
    assert False in during


@pytest.mark.parametrize("change", CHANGES)
def test_a_cut_comes_before_the_change(change: str) -> None:
    alone, cut = faults(change, 1, 2, is_cut=False), faults(change, 1, 2, is_cut=True)
    assert [str(fault.verb) for fault in cut] == [
        "cut replication",
        *[str(fault.verb) for fault in alone],
    ]


def test_who_does_not_ask_for_stable_commits() -> None:
    kinds = {group.group.partition(".")[0] for group in GROUPS if is_unstable(group)}
    assert kinds == {"librdkafka-uncommitted", "kafka-python"}
    assert sum(map(is_assigned, GROUPS)) * 2 == len(GROUPS)
