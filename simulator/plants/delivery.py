"""Plants of lost, skipped, repeated and phantom records (family A)."""

import numpy as np

from simulator.frames import Array
from simulator.plants.tails import append_behind, deliver_behind, drop_last_deliveries
from simulator.plants.tools import (
    PLAIN,
    STEADY,
    Plant,
    Random,
    any_partition,
    commits_of,
    copy_of,
    deliveries,
    drawn,
    drop_deliveries,
    events_of,
    follows,
    groups,
    middle,
    middle_batch,
    offsets_of,
)
from simulator.reading import POLL_MICROS
from simulator.universe import Place, Universe

_KNOWN_FOR_MICROS = 100_000


def lost_record(universe: Universe, random: Random) -> list[Place]:
    """An acknowledged batch is in no replica, and was never delivered."""
    partition = any_partition(universe, random)
    offsets = offsets_of(universe, middle_batch(universe, random, partition))
    for group in groups(universe):
        drop_deliveries(universe, partition, group, offsets)
    for table, column in (("replica_records", "offset"), ("replica_batches", "base_offset")):
        frame = universe.frame(table)
        gone = (frame["partition"] == partition) & np.isin(frame[column], offsets)
        universe.keep(table, ~gone)
    sends = universe.frame("sends")
    known = offsets[
        np.isin(offsets, sends["offset"][sends.where(partition=partition, outcome="ok")])
    ]
    follows(
        universe,
        "leader_completeness",
        "isr_incomplete",
        "log_divergence",
        "zombie_producer_accepted",
        partition=partition,
        group=None,
    )
    for group in groups(universe):
        follows(universe, "poll_skip", partition=partition, group=group)
    return [Place("lost_record", "violation", partition, None, int(known[0]))]


def skip(universe: Universe, random: Random, check: str) -> list[Place]:
    """One or two records were not delivered to a group, though its position went past them."""
    partition = any_partition(universe, random)
    group = groups(universe)[int(random.integers(2))]
    count = int(random.integers(1, 3))
    polls = universe.frame("polls")

    def within_a_session() -> Array | None:
        offsets = offsets_of(universe, middle(universe, random, partition, count))
        around = np.array([offsets[0] - 1, offsets[-1] + 1])
        members = polls["member"][deliveries(universe, partition, group, around)]
        return offsets if len(set(members)) == 1 else None

    offsets = drawn(universe, within_a_session)
    drop_deliveries(universe, partition, group, offsets)
    others = ("skipped_record", "poll_skip", "commit_beyond_processed", "stale_read")
    for other in others:
        if other != check:
            follows(universe, other, partition=partition, group=group)
    follows(universe, "divergent_readers", partition=partition, group=None)
    return [Place(check, "violation", partition, group, int(offsets[0]))]


def skipped_record(universe: Universe, random: Random) -> list[Place]:
    """Records of the surviving log that a group's position went past."""
    return skip(universe, random, "skipped_record")


def unseen_record(universe: Universe, random: Random) -> list[Place]:
    """A group ends before the last records."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    first = drop_last_deliveries(universe, partition, group)
    follows(universe, "stale_read", partition=partition, group=group)
    return [Place("unseen_record", None, partition, None, first)]


def duplicate_append(universe: Universe, random: Random) -> list[Place]:
    """An idempotent producer's value lies at a second offset, too."""
    partition = any_partition(universe, random)
    log = universe.the_log()
    (one,) = middle(universe, random, partition)
    values = np.array([log.value[one]], dtype=object)
    first = append_behind(universe, partition, values)
    for group in groups(universe):
        deliver_behind(universe, partition, group, first, values)
        follows(
            universe,
            "duplicate_delivery",
            "nonmonotonic_poll",
            partition=partition,
            group=group,
        )
    follows(universe, "nonmonotonic_send", partition=partition, group=None)
    return [Place("duplicate_append", "violation", partition, None)]


def duplicate_delivery(universe: Universe, random: Random) -> list[Place]:
    """The steady group loses a partition for a moment, and resumes at its last commit."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    commits, polls = universe.frame("commits"), universe.frame("polls")
    chosen, again = None, np.zeros(0, dtype=np.int64)
    for index in random.permutation(commits_of(universe, partition, group)[8:-6]):
        row = commits.row(int(index))
        until = row["committed_micros"] + 2 * POLL_MICROS + POLL_MICROS // 2
        mine = deliveries(universe, partition, group) & (polls["offset"] >= row["offset"])
        again = np.flatnonzero(mine & (polls["polled_micros"] <= until))
        if len(again):
            chosen = row
            break
    if chosen is None:
        raise ValueError(f"{universe.topic} is too small to redeliver anything")
    at = chosen["committed_micros"] + 2 * POLL_MICROS + POLL_MICROS * 3 // 4
    events = universe.frame("group_events")
    model = copy_of(events, int(events_of(universe, partition, group, "assigned")[0]))
    universe.add(model.but(change="revoked", position=None, at_micros=at - 2_000))
    universe.add(model.but(position=chosen["offset"], at_micros=at - 1_000))
    order = again[np.argsort(polls["offset"][again])]
    universe.add(polls.take(order).but(polled_micros=at, position_in_poll=np.arange(len(order))))
    return [
        Place("duplicate_delivery", "permitted", partition, group, int(polls["offset"][order[0]]))
    ]


def phantom_record(universe: Universe, random: Random) -> list[Place]:
    """A value is in the log and delivered, but no producer intended to send it."""
    partition = any_partition(universe, random)
    (one,) = middle(universe, random, partition)
    log = universe.the_log()
    sends = universe.frame("sends")
    universe.keep("sends", sends["value"] != log.value[one])
    return [
        Place("phantom_record", "violation", partition, group, int(log.offset[one]))
        for group in groups(universe)
    ]


def corrupted_record(universe: Universe, random: Random) -> list[Place]:
    """A value with a wrong checksum was delivered to a group."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    offsets = offsets_of(universe, middle(universe, random, partition))
    polls = universe.frame("polls")
    for index in np.flatnonzero(deliveries(universe, partition, group, offsets)):
        polls["value"][index] = f"{polls['value'][index][:-8]}corrupt!"
        polls["is_intact"][index] = False
    follows(
        universe,
        "skipped_record",
        "inconsistent_offset",
        "divergent_readers",
        "phantom_record",
        "poll_skip",
        partition=partition,
        group=group,
    )
    follows(universe, "inconsistent_offset", "divergent_readers", partition=partition, group=None)
    return [Place("corrupted_record", "violation", partition, group, int(offsets[0]))]


def outcome_mismatch(universe: Universe, random: Random) -> list[Place]:
    """A client reports a send as refused, and the log has its record."""
    partition = any_partition(universe, random)
    (one,) = middle(universe, random, partition)
    log, sends = universe.the_log(), universe.frame("sends")
    (index,) = np.flatnonzero(sends["value"] == log.value[one])
    refused = copy_of(sends, int(index)).but(
        offset=None, outcome="failed", error="TopicAuthorizationException"
    )
    universe.keep("sends", sends["value"] != log.value[one])
    universe.add(refused)
    return [Place("outcome_mismatch", "violation", partition, None, int(log.offset[one]))]


def resurrected_record(universe: Universe, random: Random) -> list[Place]:
    """A group was given a value of the next epoch where the log has the last one of the epoch."""
    group = groups(universe)[STEADY]
    polls, sends, commits = (universe.frame(name) for name in ("polls", "sends", "commits"))
    log = universe.the_log()

    def last_of_epoch() -> tuple[int, int, Array] | None:
        partition = any_partition(universe, random)
        mine = np.flatnonzero((log.partition == partition) & ~log.is_cut)
        one = int(random.choice(mine[np.append(np.diff(log.epoch[mine]) > 0, False)]))
        is_there = log.offset[one] >= universe.log_start.get(partition, 0)
        acknowledged = sends["offset"][sends.where(partition=partition, outcome="ok")]
        rows = np.flatnonzero(deliveries(universe, partition, group, log.offset[[one]]))
        read, known = polls["polled_micros"][rows[0]], log.at[one] + _KNOWN_FOR_MICROS
        committed = commits["committed_micros"][commits.where(partition=partition, group=group)]
        is_free = not ((committed >= read) & (committed <= known)).any()
        is_fit = is_there and is_free and log.offset[one] in acknowledged
        return (partition, one, rows) if is_fit else None

    partition, one, rows = drawn(universe, last_of_epoch)
    failed = np.flatnonzero(sends.where(partition=partition, outcome="failed"))
    known = log.at[one] + _KNOWN_FOR_MICROS
    polls["polled_micros"][rows] = np.maximum(polls["polled_micros"][rows], known)
    polls["value"][rows] = sends["value"][failed[0]]
    polls["leader_epoch"][rows] += 1
    for other in (group, None):
        follows(
            universe,
            "skipped_record",
            "poll_skip",
            "inconsistent_offset",
            "divergent_readers",
            "record_epoch_regressed",
            "truncation_undetected",
            "nonmonotonic_poll",
            "loss_estimate",
            "silent_revalidation",
            "committed_epoch_stale",
            "served_under_fenced_epoch",
            "leader_completeness",
            "orphan_commit",
            partition=partition,
            group=other,
        )
    return [Place("resurrected_record", "violation", partition, group, int(log.offset[one]))]


def expired_read(universe: Universe, random: Random) -> list[Place]:
    """A record is delivered to a group long after the log start went past it."""
    partition = any_partition(universe, random)
    group = groups(universe)[STEADY]
    start = universe.log_start[partition]
    polls = universe.frame("polls")
    below = deliveries(universe, partition, group) & (polls["offset"] < start)
    index = int(random.choice(np.flatnonzero(below)))
    at = universe.at(85.0) + partition * 10
    events = universe.frame("group_events")
    model = copy_of(events, int(events_of(universe, partition, group, "assigned")[0]))
    universe.add(model.but(change="revoked", position=None, at_micros=at - 300_000))
    universe.add(model.but(position=polls["offset"][index], at_micros=at - 100_000))
    universe.add(copy_of(polls, index).but(polled_micros=at, position_in_poll=0))
    follows(
        universe,
        "duplicate_delivery",
        "nonmonotonic_poll",
        "record_epoch_regressed",
        "commit_beyond_processed",
        "poll_skip",
        "stale_read",
        "start_mismatch",
        "unjustified_reset",
        "history_consistent",
        partition=partition,
        group=group,
    )
    return [Place("expired_read", "violation", partition, group, int(polls["offset"][index]))]


PLANTS = {
    "lost_record": Plant(PLAIN, lost_record),
    "skipped_record": Plant(PLAIN, skipped_record),
    "unseen_record": Plant(PLAIN, unseen_record),
    "duplicate_append": Plant(PLAIN, duplicate_append),
    "duplicate_delivery": Plant(PLAIN, duplicate_delivery),
    "phantom_record": Plant(PLAIN, phantom_record),
    "corrupted_record": Plant(PLAIN, corrupted_record),
    "resurrected_record": Plant(PLAIN, resurrected_record),
    "expired_read": Plant(PLAIN, expired_read),
    "outcome_mismatch": Plant(PLAIN, outcome_mismatch),
}
