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
    for one in drawn(3):
        assert one.moves.index(Move.LEAVE) < one.moves.index(Move.RETURN)
        assert one.moves.index(Move.DOWN) < one.moves.index(Move.UP)
        assert one.moves.count(Move.WRITE) == one.is_quiet
        assert one.moves.count(Move.ELECT) == len(one.elected)
        assert one.moves.count(Move.DELETE) == len(one.kept)


def test_rounds_act_on_what_is_there() -> None:
    for one in drawn(4):
        assert one.broker in SHAPE.brokers
        assert one.worker in SHAPE.workers
        assert 1 <= min(one.members) <= max(one.members) <= SHAPE.members
        assert len(one.members) < SHAPE.members, "somebody stays in the group"
        assert max(one.groups) < SHAPE.groups
        assert all(0 <= number < SHAPE.partitions for some in one.elected for number in some)


@pytest.mark.parametrize("seed", range(5))
def test_all_that_can_happen_does(seed: int) -> None:
    some = drawn(seed)
    assert {one.departure for one in some} == set(Departure)
    assert {one.end for one in some} == set(End)
    assert {one.is_quiet for one in some} == {True, False}
    assert {kept for one in some for kept in one.kept} == set(KEPT)
    during = [
        one.moves.index(Move.LEAVE) < one.moves.index(Move.ELECT) < one.moves.index(Move.RETURN)
        for one in some
    ]
    assert True in during
    assert False in during


@pytest.mark.parametrize("change", CHANGES)
def test_a_cut_comes_before_the_change(change: str) -> None:
    alone, cut = faults(change, 1, 2, is_cut=False), faults(change, 1, 2, is_cut=True)
    assert [str(one.verb) for one in cut] == ["cut replication", *[str(one.verb) for one in alone]]


def test_who_does_not_ask_for_stable_commits() -> None:
    kinds = {one.group.partition(".")[0] for one in GROUPS if is_unstable(one)}
    assert kinds == {"librdkafka-uncommitted", "kafka-python"}
    assert sum(map(is_assigned, GROUPS)) * 2 == len(GROUPS)
