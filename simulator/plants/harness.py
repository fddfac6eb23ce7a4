"""Plants of liveness, and of defects of the harness (families H and M)."""

import numpy as np

from contract.outcomes import Outcome
from simulator.log import micros
from simulator.plants.commits import MOVED
from simulator.plants.tails import drop_last_deliveries
from simulator.plants.tools import (
    PLAIN,
    RESTARTED,
    STEADY,
    Plant,
    Random,
    any_partition,
    commits_of,
    deliveries,
    drop_commits,
    events_of,
    follows,
    groups,
    middle,
    middle_batch,
    offsets_of,
)
from simulator.universe import Place, Universe

_OUTAGE_SECONDS = 45.0
_STUCK_SECONDS = 31.0
_PAUSED_FROM, _PAUSED_UNTIL = 12.0, 52.0
"""Seconds of a universe; its first records are acknowledged, and of them none is in doubt."""
_SKEW_SECONDS = 2.0
_TOO_SHORT_SECONDS = 60


def produce_unavailable(universe: Universe, random: Random) -> list[Place]:
    """Values wait for most of a minute, though their partition could be served."""
    partition = any_partition(universe, random)
    offsets = offsets_of(universe, middle_batch(universe, random, partition))
    sends = universe.frame("sends")
    mine = (sends["partition"] == partition) & np.isin(sends["offset"], offsets)
    sends["answered_micros"][mine] = sends["intended_micros"][mine] + micros(_OUTAGE_SECONDS)
    follows(universe, "served_under_fenced_epoch", partition=partition, group=None)
    return [Place("produce_unavailable", "violation", partition)]


def fetch_unavailable(universe: Universe, random: Random) -> list[Place]:
    """A group gets nothing of a partition for most of a minute, though its records are readable."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    since, until = universe.at(_PAUSED_FROM), universe.at(_PAUSED_UNTIL)
    drop_commits_between(universe, partition, group, since, until)
    polled = universe.frame("polls")["polled_micros"]
    late = deliveries(universe, partition, group) & (polled >= since) & (polled < until)
    _, order = np.unique(polled[late], return_inverse=True)
    polled[late] = until - late.sum() + order
    follows(universe, "stale_read", partition=partition, group=group)
    return [Place("fetch_unavailable", "violation", partition, group)]


def commit_unavailable(universe: Universe, random: Random) -> list[Place]:
    """A commit takes most of a minute, though its coordinator could be reached."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    last = int(commits_of(universe, partition, group)[-1])
    commits = universe.frame("commits")
    until = int(commits["committed_micros"][last])
    began = until - micros(_OUTAGE_SECONDS)
    commits["began_micros"][last] = began
    drop_commits_between(universe, partition, group, began, until)
    return [Place("commit_unavailable", "violation", None, group)]


def drop_commits_between(
    universe: Universe, partition: int, group: str, since: int, until: int
) -> None:
    """The group committed nothing of the partition from `since` until before `until`."""
    at = universe.frame("commits")["committed_micros"]
    mine = commits_of(universe, partition, group)
    drop_commits(universe, mine[(at[mine] >= since) & (at[mine] < until)])


def stuck_producer(universe: Universe, random: Random) -> list[Place]:
    """A producer's last values fail, long after all faults are healed."""
    partition = any_partition(universe, random)
    sends = universe.frame("sends")
    failed = sends.where(partition=partition, outcome=Outcome.FAILED.value)
    sends["answered_micros"][failed] = sends["intended_micros"][failed] + micros(_STUCK_SECONDS)
    follows(universe, "produce_unavailable", partition=partition, group=None)
    return [Place("stuck_producer", "violation", partition)]


def never_caught_up(universe: Universe, random: Random) -> list[Place]:
    """The replica that was down last does not come back into the ISR."""
    partition = any_partition(universe, random)
    changes = universe.frame("leaderships")
    mine = np.flatnonzero(changes.where(partition=partition))
    kept = np.ones(len(changes), dtype=bool)
    kept[mine[np.argmax(changes["at_micros"][mine])]] = False
    universe.keep("leaderships", kept)
    return [Place("never_caught_up", "violation", partition)]


def stuck_consumer(universe: Universe, random: Random) -> list[Place]:
    """A member polls, and does not come to the log end."""
    partition, group = any_partition(universe, random), groups(universe)[STEADY]
    drop_last_deliveries(universe, partition, group)
    (end,) = events_of(universe, partition, group, "caught_up")
    universe.frame("group_events")["change"][end] = "stalled"
    return [Place("stuck_consumer", "violation", partition, group)]


def fault_landed(universe: Universe, random: Random) -> list[Place]:
    """A fault has no evidence of its effect."""
    faults = universe.frame("faults")
    faults["landed"][int(random.integers(len(faults)))] = False
    return [Place("fault_landed", "undecided")]


def history_complete(universe: Universe, random: Random) -> list[Place]:
    """Events are missing in a history, or lines are malformed."""
    histories = universe.frame("histories")
    column = str(random.choice(["missing_seqs", "malformed_lines", "torn_lines"]))
    histories[column][0] = int(random.integers(1, 4))
    return [Place("history_complete", "undecided")]


def history_consistent(universe: Universe, random: Random) -> list[Place]:
    """Two sources contradict each other: a position and the deliveries, or records and batches."""
    if random.integers(2):
        return [_position_ahead(universe)]
    partition = any_partition(universe, random)
    (one,) = middle(universe, random, partition)
    offset = int(universe.the_log().offset[one])
    records = universe.frame("replica_records")
    held = np.flatnonzero(records.where(partition=partition, offset=offset))
    kept = np.ones(len(records), dtype=bool)
    kept[random.choice(held)] = False
    universe.keep("replica_records", kept)
    return [Place("history_consistent", "undecided", partition, None, offset)]


def _position_ahead(universe: Universe) -> Place:
    """A member reports a position above the records that its second poll returns."""
    group = groups(universe)[RESTARTED]
    events, polls = universe.frame("group_events"), universe.frame("polls")
    index = int(events_of(universe, MOVED, group, "assigned")[-1])
    mine = deliveries(universe, MOVED, group) & (polls["member"] == events["member"][index])
    mine &= polls["polled_micros"] >= events["at_micros"][index]
    second = np.unique(polls["polled_micros"][mine])[1]
    ahead = int(polls["offset"][mine & (polls["polled_micros"] == second)].max()) + 1
    events["position"][index] = ahead
    return Place("history_consistent", "undecided", MOVED, group, ahead)


def clock_skew(universe: Universe, random: Random) -> list[Place]:
    """A node's clock is ahead of all others."""
    clocks = universe.frame("clocks")
    ahead = micros(_SKEW_SECONDS) + int(random.integers(1_000_000))
    clocks["ahead_micros"][0] += ahead
    clocks["behind_micros"][0] += ahead
    return [Place("clock_skew", "undecided")]


def phase_overrun(universe: Universe, random: Random) -> list[Place]:
    """A phase takes longer than its stage may."""
    phases = universe.frame("phases")
    phases["limit_seconds"][0] = _TOO_SHORT_SECONDS - int(random.integers(0, 9))
    return [Place("phase_overrun", "undecided")]


PLANTS = {
    "produce_unavailable": Plant(PLAIN, produce_unavailable),
    "fetch_unavailable": Plant(PLAIN, fetch_unavailable),
    "commit_unavailable": Plant(PLAIN, commit_unavailable),
    "stuck_consumer": Plant(PLAIN, stuck_consumer),
    "stuck_producer": Plant(PLAIN, stuck_producer),
    "never_caught_up": Plant(PLAIN, never_caught_up),
    "fault_landed": Plant(PLAIN, fault_landed),
    "history_complete": Plant(PLAIN, history_complete),
    "history_consistent": Plant(PLAIN, history_consistent),
    "clock_skew": Plant(PLAIN, clock_skew),
    "phase_overrun": Plant(PLAIN, phase_overrun),
}
