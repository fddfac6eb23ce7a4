"""Plants of groups and their commits (family D)."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from contract.outcomes import Outcome
from simulator.plants.tools import (
    PLAIN,
    RESTARTED,
    STEADY,
    Plant,
    Random,
    any_partition,
    change_commit,
    commits_of,
    copy_of,
    deliver_again,
    deliveries,
    drop_commits,
    events_of,
    follows,
    groups,
    stored_row,
)
from simulator.reading import COMMITTING_MICROS, POLL_MICROS
from simulator.universe import Place, Universe

_BEYOND = 10
MOVED = 0
"""The partition that goes from member to member in the restarted group."""


def place_of(universe: Universe, index: int, check: str, verdict: str | None) -> list[Place]:
    """Return the place where a check must find a commit."""
    row = universe.frame("commits").row(index)
    return [Place(check, verdict, int(row["partition"]), row["group"], int(row["offset"]))]


def any_commit(
    universe: Universe, random: Random, fits: Callable[[dict[str, int]], bool] = lambda _: True
) -> int:
    """A commit of the steady group in the midst of its session, not its first nor its last."""
    commits = universe.frame("commits")
    group = groups(universe)[STEADY]
    found = [
        int(index)
        for partition in range(universe.partitions)
        for index in commits_of(universe, partition, group)[3:-6]
        if fits(commits.row(int(index)))
    ]
    return int(random.choice(found))


def add_commit(universe: Universe, model: int, **values: int | str) -> int:
    """Add a commit like another, and as it was stored; returns its index."""
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    row = stored_row(universe, model)
    kept = {name: value for name, value in values.items() if name in stored.columns}
    at = int(values["committed_micros"])
    kept["committed_micros"] = at // 1000 * 1000
    universe.add(copy_of(stored, row).but(**kept))
    universe.add(copy_of(commits, model).but(**values, began_micros=at - COMMITTING_MICROS))
    return len(commits)


def commit_regressed(universe: Universe, random: Random) -> list[Place]:
    """A group commits an offset below its last one, without a reset."""
    commits = universe.frame("commits")
    group = groups(universe)[STEADY]
    partition = any_partition(universe, random)
    mine = commits_of(universe, partition, group)
    fits = [
        at
        for at in range(6, len(mine) - 6)
        if commits["offset"][mine[at]] > commits["offset"][mine[at - 2]]
        and commits["committed_epoch"][mine[at]] == commits["committed_epoch"][mine[at - 2]]
    ]
    at = int(random.choice(fits))
    model, earlier = int(mine[at]), int(mine[at - 2])
    added = add_commit(
        universe,
        model,
        offset=int(commits["offset"][earlier]),
        committed_micros=int(commits["committed_micros"][model]) + POLL_MICROS * 2,
    )
    follows(universe, partition, group, "committed_epoch_behind_leader")
    return place_of(universe, added, "commit_regressed", "violation")


def commit_beyond_processed(universe: Universe, random: Random) -> list[Place]:
    """A group commits records before they are delivered to it."""
    commits, polls = universe.frame("commits"), universe.frame("polls")
    log = universe.the_log()
    group = groups(universe)[STEADY]
    for partition in random.permutation(universe.partitions):
        mine = commits_of(universe, int(partition), group)
        for at in random.permutation(np.arange(6, len(mine) - 6)):
            now, after = (int(commits["offset"][mine[i]]) for i in (at, at + 1))
            if after - now < 3:  # noqa: PLR2004 - so that some remain for the next commit
                continue
            if after - 2 < universe.log_start[int(partition)]:
                continue
            before = (log.partition == partition) & (log.offset == after - 2)
            epoch = int(log.epoch[before & ~log.is_cut][0])
            at_micros = int(commits["committed_micros"][mine[at]])
            late = deliveries(universe, int(partition), group, np.array([after - 2]))
            if polls["polled_micros"][late].min() <= at_micros:
                continue
            change_commit(universe, int(mine[at]), offset=after - 1, committed_epoch=epoch)
            follows(
                universe,
                int(partition),
                group,
                "commit_beyond_log",
                "committed_epoch_ahead",
                "committed_epoch_unknown",
            )
            return place_of(universe, int(mine[at]), "commit_beyond_processed", "violation")
    raise ValueError(f"{universe.topic} has too few commits")


def commit_beyond_log(universe: Universe, random: Random) -> list[Place]:
    """A group's last commit lies behind the log's end."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    last = int(commits_of(universe, partition, group)[-1])
    change_commit(universe, last, offset=int(universe.frame("commits")["offset"][last]) + _BEYOND)
    follows(universe, partition, group, "commit_beyond_processed")
    return place_of(universe, last, "commit_beyond_log", "violation")


def commit_from_old_generation(universe: Universe, random: Random) -> list[Place]:
    """The previous owner of a partition commits again, after the next member was assigned it."""
    group = groups(universe)[RESTARTED]
    commits, events = universe.frame("commits"), universe.frame("group_events")
    second = f"{group}#2"
    mine = commits_of(universe, MOVED, group)
    last = int([i for i in mine if commits["member"][i] == second][-1])
    taken = events_of(universe, MOVED, group, "assigned")[-1]
    at = int(events["at_micros"][taken]) + int(random.integers(100_000, 400_000))
    added = add_commit(universe, last, committed_micros=at)
    follows(universe, MOVED, group, "committed_epoch_behind_leader", "start_mismatch")
    return place_of(universe, added, "commit_from_old_generation", "violation")


def double_ownership(universe: Universe, random: Random) -> list[Place]:
    """Two members poll a partition at the same time, without a fault."""
    universe.keep("faults", np.zeros(len(universe.frame("faults")), dtype=bool))
    group = groups(universe)[RESTARTED]
    polls, events = universe.frame("polls"), universe.frame("group_events")
    seconds = float(random.uniform(2, 5))
    (gone,) = events_of(universe, MOVED, group, "revoked")
    until = int(events["at_micros"][gone]) + round(seconds * 1_000_000)
    events["at_micros"][gone] = until
    theirs = deliveries(universe, MOVED, group) & (polls["member"] == f"{group}#2")
    also = np.flatnonzero(theirs & (polls["polled_micros"] <= until))
    universe.add(
        polls.take(also).but(
            member=f"{group}#1", polled_micros=polls["polled_micros"][also] + POLL_MICROS // 4
        )
    )
    follows(
        universe,
        MOVED,
        group,
        "duplicate_delivery",
        "nonmonotonic_poll",
        "commit_from_old_generation",
        "start_mismatch",
    )
    return [Place("double_ownership", "violation", MOVED, group)]


def lost_commit(universe: Universe, random: Random) -> list[Place]:
    """A group's last acknowledged commits are not in `__consumer_offsets`."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    mine = commits_of(universe, partition, group)
    lost = mine[-int(random.integers(6, 9)) :]
    universe.drop("committed_offsets", [stored_row(universe, int(index)) for index in lost])
    follows(universe, partition, group, "lost_commit")
    return place_of(universe, int(lost[-1]), "lost_commit", "violation")


def start_mismatch(universe: Universe, random: Random) -> list[Place]:
    """A member begins below what its group had committed."""
    group = groups(universe)[RESTARTED]
    events = universe.frame("group_events")
    index = int(events_of(universe, MOVED, group, "assigned")[-1])
    committed = int(events["position"][index])
    back = int(random.integers(1, 4))
    mine = deliveries(universe, MOVED, group, np.arange(committed - back, committed))
    at = int(events["at_micros"][index]) + 10_000
    events["position"][index] = committed - back
    deliver_again(universe, np.flatnonzero(mine), at, member=f"{group}#1")
    follows(universe, MOVED, group, "duplicate_delivery", "unjustified_reset")
    return [Place("start_mismatch", "violation", MOVED, group)]


def commit_expired(universe: Universe, random: Random) -> list[Place]:
    """A group commits an offset that retention deleted before."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    commits = universe.frame("commits")
    mine = commits_of(universe, partition, group)
    start = universe.log_start[partition]
    early = [int(i) for i in mine if commits["offset"][i] < start]
    model = int(random.choice(early))
    late = [int(i) for i in mine if commits["committed_micros"][i] > universe.at(84.0)]
    added = add_commit(universe, model, committed_micros=universe.at(85.2))
    place = place_of(universe, added, "commit_expired", None)
    drop_commits(universe, np.array(late, dtype=np.int64))
    follows(
        universe,
        partition,
        group,
        "commit_regressed",
        "committed_epoch_regressed",
        "committed_epoch_expired",
        "committed_epoch_behind_leader",
    )
    return place


def commit_mismatch(universe: Universe, random: Random) -> list[Place]:
    """A commit is stored, and its client reports that it failed at once."""
    index = any_commit(universe, random)
    commits = universe.frame("commits")
    commits["outcome"][index] = Outcome.FAILED.value
    commits["error"][index] = "CommitFailedException"
    return place_of(universe, index, "commit_mismatch", "violation")


def withheld_commit(universe: Universe, random: Random) -> list[Place]:
    """A client returns that it has nothing to commit, after records were delivered to it."""
    commits = universe.frame("commits")
    moved = [
        int(index)
        for partition in range(universe.partitions)
        for before, index in pairwise(
            commits_of(universe, partition, groups(universe)[STEADY])[3:-6]
        )
        if commits["offset"][index] > commits["offset"][before]
    ]
    index = int(random.choice(moved))
    place = place_of(universe, index, "withheld_commit", "permitted")
    universe.drop("committed_offsets", [stored_row(universe, index)])
    commits["outcome"][index] = Outcome.NOTHING.value
    return place


PLANTS = {
    "commit_regressed": Plant(PLAIN, commit_regressed),
    "commit_beyond_processed": Plant(PLAIN, commit_beyond_processed),
    "commit_beyond_log": Plant(PLAIN, commit_beyond_log),
    "commit_from_old_generation": Plant(PLAIN, commit_from_old_generation),
    "double_ownership": Plant(PLAIN, double_ownership),
    "lost_commit": Plant(PLAIN, lost_commit),
    "start_mismatch": Plant(PLAIN, start_mismatch),
    "commit_expired": Plant(PLAIN, commit_expired),
    "commit_mismatch": Plant(PLAIN, commit_mismatch),
    "withheld_commit": Plant(PLAIN, withheld_commit),
}
