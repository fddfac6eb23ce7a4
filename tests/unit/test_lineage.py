"""Which older epochs a leader's log lacked, from what is known of a partition's logs."""

from typing import Any

import pytest

from analysis.facts.lineage import LogsOfPartition

# Epoch 0 of broker 1 reaches 200, epoch 1 of broker 2 goes from 100 to 150, epoch 3 starts at 200.
PARTED: dict[str, Any] = {
    "starts": {0: 0, 1: 100, 3: 200},
    "began": {0: 10, 1: 20, 3: 30},
    "leaders": {0: 1, 1: 2, 3: 1},
    "in_sync": [(0, [1, 2]), (1, [2]), (3, [1])],
    "reached": {0: 200, 1: 150, 3: 250},
}


def lineages(**known: Any) -> dict[int, tuple[set[int], set[int]]]:
    logs = LogsOfPartition(**{**PARTED, **{k: v for k, v in known.items() if k != "cuts"}})
    for cut in known.get("cuts", []):
        logs.truncated[1].append(cut)
    return logs.lineages()


def test_an_old_leader_goes_on_from_its_own_records() -> None:
    assert lineages()[3] == ({1}, set())


@pytest.mark.parametrize(
    "known",
    [
        # It was in sync with epoch 1 since.
        {"in_sync": [(0, [1, 2]), (1, [2]), (1, [1, 2]), (3, [1])]},
        # Its log had not reached the start of epoch 1.
        {"reached": {0: 100, 1: 150}},
    ],
)
def test_a_leader_that_met_the_epoch_between_has_it(known: dict[str, Any]) -> None:
    assert 1 not in lineages(**known)[3][0]


def test_a_leader_that_truncated_its_log_may_have_met_it() -> None:
    assert lineages(cuts=[(25, 100)])[3] == (set(), {1})


def test_a_truncation_after_the_election_proves_nothing() -> None:
    assert lineages(cuts=[(35, 200)])[3] == ({1}, set())


def test_a_replica_at_the_end_shows_the_log_whatever_the_metadata_says() -> None:
    in_sync = [(0, [1, 2]), (1, [1, 2]), (3, [1])]
    at_end = {(1, 0): {0: 200, 3: 250}}
    assert lineages(in_sync=in_sync, logs=at_end)[3] == ({1}, set())
    linear = {(1, 0): {0: 100, 1: 200, 3: 250}}
    assert lineages(in_sync=in_sync, logs=linear)[3] == (set(), set())


def test_a_broker_that_was_never_in_sync_may_lack_what_came_since() -> None:
    assert lineages(leaders={0: 1, 1: 2, 3: 3})[3] == (set(), {0, 1})


def test_a_later_leader_has_what_the_one_before_had() -> None:
    later = {
        "starts": {**PARTED["starts"], 4: 250},
        "began": {**PARTED["began"], 4: 40},
        "leaders": {**PARTED["leaders"], 4: 3},
        "in_sync": [*PARTED["in_sync"], (3, [1, 3]), (4, [3])],
    }
    assert lineages(**later)[4] == ({1}, set())


def test_branches_that_take_turns_each_lack_the_other() -> None:
    turns = {
        "starts": {**PARTED["starts"], 5: 150, 6: 160},
        "began": {**PARTED["began"], 5: 40, 6: 50},
        "leaders": {**PARTED["leaders"], 5: 2, 6: 2},
        "in_sync": [*PARTED["in_sync"], (5, [2]), (6, [2])],
        "logs": {(2, 0): {0: 100, 1: 150, 5: 160, 6: 170}},
    }
    found = lineages(**turns)
    # Epoch 3 started above 150: it is left where epoch 5 starts, as any newer one is.
    assert found[3] == ({1}, set())
    assert 1 not in found[5][0]
    assert 1 not in found[6][0]
