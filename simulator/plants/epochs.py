"""Plants of leader epochs, as groups read and commit them (family E)."""

from itertools import pairwise

import numpy as np

from simulator.plants.commits import add_commit, any_commit, place_of
from simulator.plants.tools import (
    PLAIN,
    STEADY,
    Plant,
    Random,
    change_commit,
    commits_of,
    deliveries,
    drawn,
    drop_commits,
    follows,
    groups,
    middle,
)
from simulator.universe import Place, Universe

_UNKNOWN_EPOCH = 99
_AFTER_A_CHANGE_MICROS = 100_000


def record_epoch_regressed(universe: Universe, random: Random) -> list[Place]:
    """A record was delivered under an older epoch than the one before it."""
    group = groups(universe)[STEADY]
    partition = _with_epochs(universe, random)
    commits, polls = universe.frame("commits"), universe.frame("polls")
    committed = set(commits["offset"][commits.where(partition=partition)])
    log = universe.the_log()

    def within_an_epoch() -> tuple[int, int] | None:
        (one,) = middle(universe, random, partition)
        offset, epoch = int(log.offset[one]), int(log.epoch[one])
        rows = deliveries(universe, partition, group, np.array([offset - 1, offset]))
        same = set(polls["leader_epoch"][rows]) == {epoch}
        return (offset, epoch) if epoch > 0 and offset + 1 not in committed and same else None

    offset, epoch = drawn(universe, within_an_epoch)
    row = deliveries(universe, partition, group, np.array([offset]))
    polls["leader_epoch"][row] = epoch - 1
    follows(
        universe,
        partition,
        None,
        "inconsistent_offset",
        "loss_estimate",
        "leader_completeness",
        "served_under_fenced_epoch",
    )
    return [Place("record_epoch_regressed", "violation", partition, group)]


def _with_epochs(universe: Universe, random: Random) -> int:
    """A partition whose middle was written under a later epoch than the first."""
    log = universe.the_log()
    found = []
    for partition in range(universe.partitions):
        mine = log.partition == partition
        kept = mine & (log.offset >= universe.log_start.get(partition, 0))
        if len(np.unique(log.epoch[kept])) > 1:
            found.append(partition)
    return int(random.choice(found))


def committed_epoch_missing(universe: Universe, random: Random) -> list[Place]:
    """A commit without an epoch, though the record before it had one."""
    index = any_commit(universe, random)
    change_commit(universe, index, committed_epoch=-1)
    return place_of(universe, index, "committed_epoch_missing", "violation")


def _too_old(universe: Universe, random: Random, check: str, other: str) -> list[Place]:
    commits = universe.frame("commits")
    goes_on = set()
    for partition in range(universe.partitions):
        mine = commits_of(universe, partition, groups(universe)[STEADY])
        epochs = commits["committed_epoch"][mine]
        goes_on |= set(commits["committed_micros"][mine[1:]][epochs[1:] == epochs[:-1]])
    index = any_commit(
        universe,
        random,
        lambda row: row["committed_epoch"] > 0 and row["committed_micros"] in goes_on,
    )
    row = universe.frame("commits").row(index)
    change_commit(universe, index, committed_epoch=int(row["committed_epoch"]) - 1)
    follows(
        universe,
        int(row["partition"]),
        row["group"],
        other,
        "orphan_commit",
        "committed_epoch_expired",
    )
    return place_of(universe, index, check, "violation")


def committed_epoch_stale(universe: Universe, random: Random) -> list[Place]:
    """A commit under an older epoch than the record before it has."""
    return _too_old(universe, random, "committed_epoch_stale", "committed_epoch_regressed")


def committed_epoch_regressed(universe: Universe, random: Random) -> list[Place]:
    """A commit under an older epoch than the group's last one."""
    return _too_old(universe, random, "committed_epoch_regressed", "committed_epoch_stale")


def _after_a_change(universe: Universe, random: Random) -> tuple[int, int, int]:
    """The last commit until just after a leader change, the change's moment, its new epoch."""
    commits = universe.frame("commits")
    group = groups(universe)[STEADY]
    found = []
    for partition in range(universe.partitions):
        led = [change for change in universe.changes if change.partition == partition]
        found += [after for before, after in pairwise(led) if before.epoch < after.epoch]
    change = found[int(random.integers(len(found)))]
    mine = commits_of(universe, change.partition, group)
    until = change.at + _AFTER_A_CHANGE_MICROS
    last = [int(i) for i in mine if commits["committed_micros"][i] < until][-1]
    return last, change.at, change.epoch


def committed_epoch_behind_leader(universe: Universe, random: Random) -> list[Place]:
    """A group commits what it has when a newer leader was just elected."""
    model, at, _ = _after_a_change(universe, random)
    added = add_commit(universe, model, committed_micros=at + _AFTER_A_CHANGE_MICROS)
    return place_of(universe, added, "committed_epoch_behind_leader", "permitted")


def committed_epoch_ahead(universe: Universe, random: Random) -> list[Place]:
    """The same, but it commits the new leader's epoch."""
    model, at, epoch = _after_a_change(universe, random)
    added = add_commit(
        universe, model, committed_micros=at + _AFTER_A_CHANGE_MICROS, committed_epoch=epoch
    )
    row = universe.frame("commits").row(added)
    # Until something is appended, its next commits are under the older epoch again.
    follows(universe, int(row["partition"]), str(row["group"]), "committed_epoch_regressed")
    return place_of(universe, added, "committed_epoch_ahead", "violation")


def committed_epoch_expired(universe: Universe, random: Random) -> list[Place]:
    """Retention removes the epoch of a group's last commit, not its offset."""
    group = groups(universe)[STEADY]
    log = universe.the_log()
    commits = universe.frame("commits")
    partition = _with_epochs_from_the_start(universe, random)
    mine = commits_of(universe, partition, group)
    second = (log.partition == partition) & (log.epoch > 0)
    start = int(log.offset[second].min())
    before = [int(i) for i in mine if commits["offset"][i] <= start]
    last = before[-1]
    at = int(commits["committed_micros"][last])
    drop_commits(universe, np.array([i for i in mine if commits["committed_micros"][i] > at]))
    commits = universe.frame("commits")
    last = int(commits_of(universe, partition, group)[-1])
    change_commit(universe, last, offset=start, committed_epoch=0)
    universe.log_start[partition] = start
    follows(universe, partition, group, "commit_beyond_processed", "committed_epoch_behind_leader")
    return [Place("committed_epoch_expired", None, partition, group)]


def _with_epochs_from_the_start(universe: Universe, random: Random) -> int:
    """A partition whose second epoch began before retention's reach ends."""
    log = universe.the_log()
    found = []
    for partition in range(universe.partitions):
        later = (log.partition == partition) & (log.epoch > 0)
        if later.any() and log.offset[later].min() <= universe.log_start[partition]:
            found.append(partition)
    return int(random.choice(found))


def committed_epoch_unknown(universe: Universe, random: Random) -> list[Place]:
    """A commit under an epoch that there never was."""
    index = any_commit(universe, random)
    row = universe.frame("commits").row(index)
    change_commit(universe, index, committed_epoch=_UNKNOWN_EPOCH)
    follows(
        universe,
        int(row["partition"]),
        row["group"],
        "committed_epoch_ahead",
        "committed_epoch_regressed",
        "orphan_commit",
    )
    return place_of(universe, index, "committed_epoch_unknown", "violation")


PLANTS = {
    "record_epoch_regressed": Plant(PLAIN, record_epoch_regressed),
    "committed_epoch_missing": Plant(PLAIN, committed_epoch_missing),
    "committed_epoch_stale": Plant(PLAIN, committed_epoch_stale),
    "committed_epoch_behind_leader": Plant(PLAIN, committed_epoch_behind_leader),
    "committed_epoch_expired": Plant(PLAIN, committed_epoch_expired),
    "committed_epoch_ahead": Plant(PLAIN, committed_epoch_ahead),
    "committed_epoch_regressed": Plant(PLAIN, committed_epoch_regressed),
    "committed_epoch_unknown": Plant(PLAIN, committed_epoch_unknown),
}
