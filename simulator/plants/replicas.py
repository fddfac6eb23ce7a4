"""Plants of replicas, elections and metadata (family G)."""

from itertools import pairwise

import numpy as np

from contract.tables import MICROS_PER_SECOND
from contract.values import make_value
from simulator.finish import ANOTHER_CHECKSUM
from simulator.frames import NULL, Frame
from simulator.log import micros
from simulator.metadata import leadership
from simulator.plants.tools import (
    PLAIN,
    Plant,
    Random,
    any_partition,
    copy_of,
    drop_appends,
    follows,
    groups,
    middle,
)
from simulator.stories import write_truncation
from simulator.universe import Change, Place, Universe

_BOUNCE_SECONDS = 7.5
_QUIET_FROM, _QUIET_UNTIL = 56.0, 62.0
"""Seconds of a universe between its leader changes and its end."""
_EARLY_SECONDS, _LATE_SECONDS, _BACK_SECONDS = 0.09, 2.0, 6.5
"""From a leader change: acknowledged before it, or after it; when who led before is back."""


def _replica(universe: Universe, random: Random) -> int:
    return int(random.choice(universe.brokers))


def log_divergence(universe: Universe, random: Random) -> list[Place]:
    """One replica has two records the other way round."""
    partition, broker = any_partition(universe, random), _replica(universe, random)
    index = middle(universe, random, partition, 2)
    log, records = universe.the_log(), universe.frame("replica_records")
    for one, other in ((index[0], index[1]), (index[1], index[0])):
        row = records.where(partition=partition, broker=broker, offset=log.offset[one])
        records["value"][row] = log.value[other]
    batches = universe.frame("replica_batches")
    base = log.offset[log.batch == log.batch[index[0]]].min()
    first = batches.where(partition=partition, broker=broker, base_offset=base)
    batches["checksum"][first] += ANOTHER_CHECKSUM
    follows(universe, partition, None, "inconsistent_offset", "duplicate_append")
    for group in groups(universe):
        follows(universe, partition, group, "inconsistent_offset")
    return [Place("log_divergence", "violation", partition, None, int(log.offset[index[0]]))]


def leader_completeness(universe: Universe, random: Random) -> list[Place]:
    """An epoch begins below records that its predecessor acknowledged with acks=all."""
    partition, before, after, start = _deposed(universe, random)
    count = int(random.integers(1, 6))
    _acknowledge(universe, partition, start, count, at=after.at - micros(_EARLY_SECONDS))
    back_at = after.at + micros(_BACK_SECONDS)
    write_truncation(universe, partition, before.leader, to=start, at=back_at)
    follows(
        universe,
        partition,
        None,
        "lost_record",
        "served_under_fenced_epoch",
        "nonmonotonic_send",
        "inconsistent_offset",
        "loss_estimate",
    )
    for group in groups(universe):
        # What was acknowledged too early lay there before the group could have it.
        follows(universe, partition, group, "stale_read")
    return [Place("leader_completeness", "violation", partition)]


def isr_incomplete(universe: Universe, random: Random) -> list[Place]:
    """A member of the last ISR lacks the log's end."""
    partition = any_partition(universe, random)
    last = [c for c in universe.changes if c.partition == partition][-1]
    broker = int(random.choice([one for one in last.isr if one != last.leader]))
    log = universe.the_log()
    newest = log.batch[(log.partition == partition) & ~log.is_cut].max()
    offsets = log.offset[log.batch == newest]
    drop_appends(universe, offsets, partition=partition, broker=broker)
    bounds = universe.frame("log_starts")
    mine = bounds.where(partition=partition, broker=broker)
    bounds["log_end_offset"][mine] = offsets.min()
    follows(universe, partition, None, "log_divergence", "leader_completeness", "never_caught_up")
    return [Place("isr_incomplete", "violation", partition)]


def high_watermark_regressed(universe: Universe, random: Random) -> list[Place]:
    """A leader reports a lower high watermark than before, in one epoch."""
    partition = any_partition(universe, random)
    samples = universe.frame("samples")
    mine = np.flatnonzero(
        samples.where(partition=partition) & (samples["log_end_offset"] > _BOUNCE_SECONDS)
    )
    mine = mine[samples["at_micros"][mine] > universe.at(_QUIET_FROM - 4)]
    one = int(random.choice(mine))
    sample = copy_of(samples, one)
    sample["log_end_offset"] -= int(random.integers(1, 5))
    sample["at_micros"] += micros(0.5)
    sample["asked_micros"] += micros(0.5)
    universe.add(sample)
    for group in groups(universe):
        follows(universe, partition, group, "uncommitted_read")
    return [Place("high_watermark_regressed", "violation", partition)]


def _changed(universe: Universe, partition: int, seconds: float, **values: object) -> Frame:
    """Add a change of a partition that copies its state then but for some values."""
    at = universe.at(seconds)
    now = universe.led_at(partition, at)
    changes = universe.frame("leaderships")
    ids = changes["replicas"][changes.where(partition=partition)][0]
    change = Change(partition, at, now.leader, now.epoch, now.isr)
    frame = leadership(universe, change, ids).but(**values)
    universe.add(frame)
    return frame


def _quiet_moment(universe: Universe, random: Random) -> tuple[int, float, Change]:
    """A partition, a second between its leader changes and its end, and its state then."""
    partition = any_partition(universe, random)
    seconds = float(random.uniform(_QUIET_FROM, _QUIET_UNTIL))
    return partition, seconds, universe.led_at(partition, universe.at(seconds))


def epoch_regressed(universe: Universe, random: Random) -> list[Place]:
    """Another leader in the same epoch."""
    partition, seconds, now = _quiet_moment(universe, random)
    other = int(random.choice([one for one in now.isr if one != now.leader]))
    _changed(universe, partition, seconds, leader=other)
    follows(universe, partition, None, "served_under_fenced_epoch", "leader_completeness")
    return [Place("epoch_regressed", "violation", partition)]


def fenced_in_isr(universe: Universe, random: Random) -> list[Place]:
    """A partition's ISR has a broker that is fenced."""
    partition = any_partition(universe, random)
    fenced = [c for c in universe.broker_changes if c.is_fenced and c.in_controlled_shutdown]
    one = fenced[int(random.integers(len(fenced)))]
    seconds = (one.at - universe.began) / MICROS_PER_SECOND + float(random.uniform(0.5, 4.0))
    now = universe.led_at(partition, universe.at(seconds))
    frame = _changed(universe, partition, seconds)
    frame["isr"][0] = tuple(sorted({*now.isr, one.broker}))
    back = _changed(universe, partition, seconds + 0.3)
    back["isr"][0] = now.isr
    follows(universe, partition, None, "isr_incomplete")
    return [Place("fenced_in_isr", "violation", partition)]


def eligible_leader_replicas(universe: Universe, random: Random) -> list[Place]:
    """A broker is both in the ISR and among the eligible leader replicas."""
    partition, seconds, now = _quiet_moment(universe, random)
    frame = _changed(universe, partition, seconds)
    frame["elr"][0] = (int(random.choice(now.isr)),)
    _changed(universe, partition, seconds + 0.5)
    return [Place("eligible_leader_replicas", "violation", partition)]


def min_insync_breached(universe: Universe, random: Random) -> list[Place]:
    """acks=all is acknowledged while the leader alone is in sync."""
    partition, seconds, now = _quiet_moment(universe, random)
    frame = _changed(universe, partition, seconds)
    frame["isr"][0] = (now.leader,)
    _changed(universe, partition, seconds + 10.0)
    return [Place("min_insync_breached", "violation", partition)]


def epoch_cache_mismatch(universe: Universe, random: Random) -> list[Place]:
    """A replica's leader-epoch-checkpoint disagrees with its segments."""
    partition, broker = any_partition(universe, random), _replica(universe, random)
    cache = universe.frame("epoch_checkpoints")
    mine = np.flatnonzero(cache.where(partition=partition, broker=broker))
    newest = mine[np.argmax(cache["leader_epoch"][mine])]
    cache["start_offset"][newest] += int(random.integers(1, 3))
    return [Place("epoch_cache_mismatch", "violation", partition)]


def retention_overreach(universe: Universe, random: Random) -> list[Place]:
    """Records younger than retention.ms are deleted."""
    partition = any_partition(universe, random)
    log = universe.the_log()
    seconds = float(random.uniform(68, 72))
    young = (log.partition == partition) & (log.at < universe.at(seconds))
    batch = log.batch[young].max()
    universe.log_start[partition] = int(log.offset[log.batch == batch].min())
    return [Place("retention_overreach", "violation", partition)]


def _deposed(universe: Universe, random: Random) -> tuple[int, Change, Change, int]:
    """A leader that was put out of the ISR: partition, its last state, the next one's and start.

    Records below the final log start are left out: they may have survived.
    """
    log = universe.the_log()
    found = []
    for partition in range(universe.partitions):
        led = [c for c in universe.changes if c.partition == partition]
        for before, after in pairwise(led):
            began = (log.partition == partition) & (log.epoch == after.epoch)
            if before.epoch == after.epoch or before.leader in after.isr or not began.any():
                continue
            start = int(log.offset[began].min())
            if start >= universe.log_start[partition]:
                found.append((partition, before, after, start))
    return found[int(random.integers(len(found)))]


def _acknowledge(universe: Universe, partition: int, start: int, count: int, *, at: int) -> None:
    """Acknowledge further values of the partition's producer at these offsets."""
    sends = universe.frame("sends")
    mine = np.flatnonzero(sends.where(partition=partition))
    first = int(sends["sequence"][mine].max()) + 1
    producer = str(sends["producer"][mine[0]])
    model = copy_of(sends, int(mine[0]))
    for number in range(count):
        universe.add(
            model.but(
                sequence=first + number,
                value=make_value(producer, first + number),
                offset=start + number,
                outcome="ok",
                error=None,
                intended_micros=at - 5_000,
                answered_micros=at + 5_000,
                transaction=NULL,
            )
        )


def served_under_fenced_epoch(universe: Universe, random: Random) -> list[Place]:
    """A deposed leader acknowledges acks=all, and is truncated when it comes back."""
    partition, before, after, start = _deposed(universe, random)
    count = int(random.integers(1, 6))
    _acknowledge(universe, partition, start, count, at=after.at + micros(_LATE_SECONDS))
    back_at = after.at + micros(_BACK_SECONDS)
    write_truncation(universe, partition, before.leader, to=start, at=back_at)
    follows(
        universe,
        partition,
        None,
        "lost_record",
        "leader_completeness",
        "nonmonotonic_send",
        "inconsistent_offset",
        "loss_estimate",
        "min_insync_breached",
    )
    return [Place("served_under_fenced_epoch", "violation", partition, None, start)]


def unclean_election_unconfigured(universe: Universe, random: Random) -> list[Place]:
    """A replica from outside the ISR is elected, alone, though the topic does not allow it."""
    partition, before, after, _ = _deposed(universe, random)
    seconds = (after.at - universe.began) / MICROS_PER_SECOND
    out_of_sync = _changed(universe, partition, seconds - 0.5)
    out_of_sync["isr"][0] = tuple(one for one in before.isr if one != after.leader)
    changes = universe.frame("leaderships")
    elected = changes.where(partition=partition, leader_epoch=after.epoch)
    first = np.flatnonzero(elected)[np.argmin(changes["at_micros"][elected])]
    changes["isr"][first] = (after.leader,)
    _changed(universe, partition, seconds + 0.2)
    follows(
        universe,
        partition,
        None,
        "isr_incomplete",
        "min_insync_breached",
        "leader_completeness",
        "fenced_in_isr",
    )
    return [Place("unclean_election_unconfigured", "violation", partition)]


def metadata_divergence(universe: Universe, random: Random) -> list[Place]:
    """One broker's metadata log has another batch than the other servers'."""
    universe.diverged_server = _replica(universe, random)
    return [Place("metadata_divergence", "violation")]


PLANTS = {
    "log_divergence": Plant(PLAIN, log_divergence),
    "leader_completeness": Plant(PLAIN, leader_completeness),
    "isr_incomplete": Plant(PLAIN, isr_incomplete),
    "high_watermark_regressed": Plant(PLAIN, high_watermark_regressed),
    "epoch_regressed": Plant(PLAIN, epoch_regressed),
    "served_under_fenced_epoch": Plant(PLAIN, served_under_fenced_epoch),
    "fenced_in_isr": Plant(PLAIN, fenced_in_isr),
    "eligible_leader_replicas": Plant(PLAIN, eligible_leader_replicas),
    "min_insync_breached": Plant(PLAIN, min_insync_breached),
    "epoch_cache_mismatch": Plant(PLAIN, epoch_cache_mismatch),
    "retention_overreach": Plant(PLAIN, retention_overreach),
    "metadata_divergence": Plant(PLAIN, metadata_divergence),
    "unclean_election_unconfigured": Plant(PLAIN, unclean_election_unconfigured),
}
