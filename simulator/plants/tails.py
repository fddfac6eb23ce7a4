"""Changes at the log end of a universe: more is appended, or less is read."""

import numpy as np

from simulator.frames import Array
from simulator.plants.tools import (
    commits_of,
    copy_of,
    deliveries,
    drop_commits,
    drop_deliveries,
    events_of,
    follows,
    groups,
)
from simulator.universe import Universe

_TAIL = 3
_APPENDED_AT, _DELIVERED_AT = 76.0, 78.0
"""Seconds of a universe at which a plant appends at the log end, and of the delivery."""


def drop_last_deliveries(universe: Universe, partition: int, group: str) -> int:
    """Drop a group's last deliveries; returns the first dropped offset."""
    log = universe.the_log()
    mine = (log.partition == partition) & ~log.is_cut & ~log.is_control
    last = np.sort(log.offset[mine])[-_TAIL:]
    drop_deliveries(universe, partition, group, last)
    commits = universe.frame("commits")
    drop_commits(
        universe,
        np.array(
            [i for i in commits_of(universe, partition, group) if commits["offset"][i] > last[0]],
            dtype=np.int64,
        ),
    )
    (end,) = events_of(universe, partition, group, "caught_up")
    universe.frame("group_events")["position"][end] = last[0]
    for other in groups(universe):
        follows(universe, partition, other, "unseen_record")
    follows(universe, partition, None, "unseen_record", "never_caught_up")
    return int(last[0])


def append_behind(universe: Universe, partition: int, values: Array, **batch: object) -> int:
    """Append records at the log end of every replica; returns the first one's offset.

    The high watermark moves with it.
    """
    samples = universe.frame("samples")
    later = samples.where(partition=partition) & (samples["log_end_offset"] >= 0)
    later &= samples["asked_micros"] > universe.at(_APPENDED_AT)
    samples["log_end_offset"][later] += len(values)
    bounds = universe.frame("log_starts")
    mine = bounds.where(partition=partition)
    first = int(bounds["log_end_offset"][mine][0])
    bounds["log_end_offset"][mine] += len(values)
    records, batches = universe.frame("replica_records"), universe.frame("replica_batches")
    for broker in np.unique(bounds["broker"][mine]):
        same = np.flatnonzero(batches.where(partition=partition, broker=broker, is_control=False))
        newest = copy_of(batches, int(same[np.argmax(batches["base_offset"][same])]))
        epoch = int(newest["leader_epoch"][0])
        made = {
            "base_offset": first,
            "last_offset": first + len(values) - 1,
            "record_count": len(values),
            "base_sequence": newest["base_sequence"] + newest["record_count"],
            "max_timestamp_micros": universe.at(_APPENDED_AT) // 1000 * 1000,
            **batch,
        }
        universe.add(newest.but(**made))
        model = copy_of(records, int(np.flatnonzero(records.where(partition=partition))[0]))
        for number, value in enumerate(values):
            universe.add(
                model.but(broker=broker, offset=first + number, leader_epoch=epoch, value=value)
            )
    return first


def deliver_behind(
    universe: Universe, partition: int, group: str, first: int, values: Array
) -> None:
    """Deliver the records of `append_behind` to a group."""
    polls, events = universe.frame("polls"), universe.frame("group_events")
    mine = np.flatnonzero(deliveries(universe, partition, group))
    model = copy_of(polls, int(mine[np.argmax(polls["polled_micros"][mine])]))
    at = universe.at(_DELIVERED_AT) + partition * 10 + groups(universe).index(group) * 1000
    for number, value in enumerate(values):
        universe.add(
            model.but(offset=first + number, value=value, position_in_poll=number, polled_micros=at)
        )
    commits, stored = universe.frame("commits"), universe.frame("committed_offsets")
    for frame in (commits, stored):
        late = frame.where(partition=partition, group=group) & (frame["committed_micros"] > at)
        frame["offset"][late] += len(values)
    (end,) = events_of(universe, partition, group, "caught_up")
    events["position"][end] += len(values)
