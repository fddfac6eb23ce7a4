"""The branches of a partition's log, by epoch checkpoints, truncations and removed batches."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from analysis.report.timeline.rows import rows_of
from analysis.report.timeline.source import Partition, Source
from contract.checks import Check


@dataclass(frozen=True)
class Segment:
    """The records of one leader epoch: from an offset (inclusive) to another one (exclusive).

    Attributes:
        epoch: the first one.
        begin: its start offset.
        end: exclusive; None: not known.
        last_epoch: equal to `epoch`, unless the segment stands for several.
    """

    epoch: int
    begin: int
    end: int | None
    last_epoch: int


@dataclass(frozen=True)
class Branch:
    """Records that a replica held and that the surviving log does not have.

    Attributes:
        segments: by epoch.
        brokers: whose replicas held it.
        is_truncated: removed during the run; else a replica has it at the end.
        at_seconds: when it was truncated; None where no log line shows it.
    """

    segments: tuple[Segment, ...]
    brokers: tuple[int, ...]
    is_truncated: bool
    at_seconds: float | None = None

    @property
    def fork(self) -> int:
        """The first offset that differs from the surviving log."""
        return self.segments[0].begin

    @property
    def length(self) -> int:
        """Its records, as far as they are known."""
        return (self.segments[-1].end or self.fork) - self.fork


@dataclass(frozen=True)
class Leadership:
    """Who led an epoch (-1: no broker), and whether the judge found its election unclean."""

    epoch: int
    leader: int
    is_unclean: bool


@dataclass(frozen=True)
class Tree:
    """The log of a partition.

    Attributes:
        where: the partition.
        broker: whose replica is the surviving log: that of the last leader.
        main: the segments of the surviving log.
        log_start: its first offset.
        log_end: exclusive.
        branches: what it does not have, by fork.
        leaderships: by epoch.
    """

    where: Partition
    broker: int
    main: tuple[Segment, ...]
    log_start: int
    log_end: int
    branches: tuple[Branch, ...]
    leaderships: tuple[Leadership, ...]

    def with_branches(self, branches_max: int) -> "Tree":
        """The tree with its largest branches only."""
        largest = sorted(self.branches, key=lambda one: -one.length)[:branches_max]
        return replace(self, branches=tuple(one for one in self.branches if one in largest))

    def end_of(self, epoch: int) -> int:
        """Where an epoch ends in the surviving log: the start of the next larger one."""
        later = [one.begin for one in self.main if one.epoch > epoch]
        return min(later, default=self.log_end)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of a record of the surviving log."""
        for one in self.main:
            if one.begin <= offset < (self.log_end if one.end is None else one.end):
                return one.epoch
        return None


def tree_of(source: Source, where: Partition) -> Tree | None:
    """The tree of a partition; None where no replica's epochs are known."""
    unclean = _unclean_epochs(source, where)
    leads = _leaderships(rows_of(source.of_partition("leaderships", where)), unclean)
    bounds = {row["broker"]: row for row in rows_of(source.of_partition("log_starts", where))}
    epochs = _epochs(rows_of(source.of_partition("epoch_checkpoints", where)), bounds)
    broker = _survivor(leads, epochs, bounds)
    if broker is None:
        return None
    main = epochs[broker]
    tree = Tree(
        where=where,
        broker=broker,
        main=main,
        log_start=bounds[broker]["log_start_offset"],
        log_end=bounds[broker]["log_end_offset"],
        branches=(),
        leaderships=tuple(leads),
    )
    branches = [*_removed(source, tree), *_diverged(tree, epochs)]
    return replace(tree, branches=tuple(sorted(branches, key=lambda one: one.fork)))


def _unclean_epochs(source: Source, where: Partition) -> set[int]:
    """The epochs whose election the judge found to be unclean."""
    found = source.found_of(Check.UNCLEAN_ELECTION_UNCONFIGURED)
    here = found[(found["topic"] == where.topic) & (found["partition"] == where.number)]
    return {msgspec.json.decode(one)["leader_epoch"] for one in here["evidence"]}


def _leaderships(rows: list[dict[str, Any]], unclean: set[int]) -> list[Leadership]:
    """The first state of each epoch.

    Of several topics that had one name, those of the last one count: it has the logs of the end.
    """
    found: list[Leadership] = []
    before: dict[str, Any] | None = None
    ordered = sorted(rows, key=lambda row: row["metadata_offset"])
    last = ordered[-1]["topic_id"] if ordered else None
    for row in (one for one in ordered if one["topic_id"] == last):
        if before is None or row["leader_epoch"] != before["leader_epoch"]:
            epoch = row["leader_epoch"]
            found.append(Leadership(epoch, row["leader"], epoch in unclean))
        before = row
    return found


def _epochs(
    rows: list[dict[str, Any]], bounds: dict[int, dict[str, Any]]
) -> dict[int, tuple[Segment, ...]]:
    """The segments of each replica at the end."""
    found: dict[int, tuple[Segment, ...]] = {}
    for broker, bound in bounds.items():
        own = sorted(
            (row["leader_epoch"], row["start_offset"]) for row in rows if row["broker"] == broker
        )
        ends = [*(start for _, start in own), bound["log_end_offset"]][1:]
        found[broker] = tuple(
            Segment(epoch, start, end, epoch)
            for (epoch, start), end in zip(own, ends, strict=False)
            if end > start
        )
    return {broker: segments for broker, segments in found.items() if segments}


def _survivor(
    leads: list[Leadership],
    epochs: dict[int, tuple[Segment, ...]],
    bounds: dict[int, dict[str, Any]],
) -> int | None:
    led = [one.leader for one in leads if one.leader in epochs]
    if led:
        return led[-1]
    return max(epochs, key=lambda broker: bounds[broker]["log_end_offset"], default=None)


def _removed(source: Source, tree: Tree) -> list[Branch]:
    """What was truncated: as far as it was kept before, else from where on."""
    truncations = rows_of(source.of_partition("truncations", tree.where))
    kept: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(source.of_partition("cut_batches", tree.where)):
        kept.setdefault(row["broker"], []).append(row)
    found: dict[tuple[Segment, ...], Branch] = {}
    for broker, batches in sorted(kept.items()):
        segments = _joined(batches)
        own = [row for row in truncations if row["broker"] == broker]
        at = max(
            (row["at_micros"] for row in own if row["to_offset"] <= segments[0].begin), default=None
        )
        _put(found, segments, broker, None if at is None else source.seconds(at))
    for row in truncations:
        if row["broker"] not in kept and row["to_offset"] < tree.log_end:
            epoch = _epoch_before(tree, row["to_offset"])
            segment = Segment(epoch, row["to_offset"], None, epoch)
            _put(found, (segment,), row["broker"], source.seconds(row["at_micros"]))
    return list(found.values())


def _put(
    found: dict[tuple[Segment, ...], Branch],
    segments: tuple[Segment, ...],
    broker: int,
    at: float | None,
) -> None:
    """Add a truncated branch; equal ones of several brokers are one."""
    earlier = found.get(segments)
    brokers = (broker,) if earlier is None else tuple(sorted({*earlier.brokers, broker}))
    before = None if earlier is None else earlier.at_seconds
    times = [one for one in (at, before) if one is not None]
    found[segments] = Branch(
        segments, brokers, is_truncated=True, at_seconds=min(times, default=None)
    )


def _epoch_before(tree: Tree, offset: int) -> int:
    epoch = tree.epoch_at(offset - 1)
    return tree.main[0].epoch if epoch is None else epoch


def _joined(batches: Iterable[dict[str, Any]]) -> tuple[Segment, ...]:
    """Removed batches as one segment an epoch."""
    spans: dict[int, tuple[int, int]] = {}
    for row in batches:
        epoch, begin, end = row["leader_epoch"], row["base_offset"], row["last_offset"] + 1
        earlier = spans.get(epoch, (begin, end))
        spans[epoch] = (min(begin, earlier[0]), max(end, earlier[1]))
    return tuple(Segment(epoch, *span, epoch) for epoch, span in sorted(spans.items()))


def _diverged(tree: Tree, epochs: dict[int, tuple[Segment, ...]]) -> list[Branch]:
    """What other replicas have at the end in other epochs than the surviving log."""
    found: dict[tuple[Segment, ...], Branch] = {}
    for broker, segments in sorted(epochs.items()):
        other = tuple(part for one in segments for part in _beyond(tree, one))
        if other:
            brokers = (*found[other].brokers, broker) if other in found else (broker,)
            found[other] = Branch(other, brokers, is_truncated=False)
    return list(found.values())


def _beyond(tree: Tree, segment: Segment) -> list[Segment]:
    """The part of a segment that the surviving log has in another epoch, or not at all."""
    end = tree.log_end if segment.end is None else segment.end
    own = next((one for one in tree.main if one.epoch == segment.epoch), None)
    shared = segment.begin if own is None else tree.end_of(segment.epoch)
    begin = max(segment.begin, shared, tree.log_start)
    return [replace(segment, begin=begin)] if begin < end else []
