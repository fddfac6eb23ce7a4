"""Finish the rows of a universe: apply retention, number events and records, sort the tables."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from contract.ranges import RECORDS, to_ranges
from contract.tables import TABLES
from simulator.frames import NULL
from simulator.universe import Universe

SORT_KEYS = ("topic", "partition", "offset", "base_offset", "metadata_offset", "group", "seq")
"""Every table is sorted by those of these columns that it has, as the collector sorts it."""
_METADATA_BATCH_BYTES = 100
_EVENTS = {
    "sends": "answered_micros",
    "polls": "polled_micros",
    "commits": "committed_micros",
    "group_events": "at_micros",
    "transactions": "at_micros",
}
"""The tables of a client's history, with their time column."""


@dataclass
class Numbering:
    """The next free offsets of `__cluster_metadata` and `__consumer_offsets`.

    All universes of a history share these logs, so one `Numbering` is passed to `finish` of each.
    A universe is a topic of a generated history, with its own brokers, producers and groups.

    Attributes:
        metadata_offset: the next offset of `__cluster_metadata`.
        offsets_offset: the next offset of each partition of `__consumer_offsets`.
    """

    metadata_offset: int = 1
    offsets_offset: Counter[int] = field(default_factory=Counter)


def finish(universe: Universe, numbering: Numbering) -> dict[str, pa.Table]:
    """Return the universe's tables that have rows, by name, with the contract's schemas."""
    _retain(universe)
    _number_events(universe)
    _number_stored_commits(universe, numbering)
    _number_metadata(universe, numbering)
    _metadata_batches(universe)
    tables = {}
    for name in TABLES:
        frame = universe.frame(name)
        if len(frame):
            rows = frame.to_arrow()
            tables[name] = to_ranges(name, rows) if name in RECORDS else laid_out(name, rows)
    return tables


def laid_out(name: str, table: pa.Table) -> pa.Table:
    """Return a table without ranges, sorted by its columns of `SORT_KEYS`."""
    keys = [(key, "ascending") for key in SORT_KEYS if key in TABLES[name].names]
    return table.sort_by(keys) if keys else table


def _retain(universe: Universe) -> None:
    """Delete what is below the log starts, in replicas and in later samples."""
    for partition, start in universe.log_start.items():
        records = universe.frame("replica_records")
        below = (records["partition"] == partition) & (records["offset"] < start)
        universe.keep("replica_records", ~below)
        batches = universe.frame("replica_batches")
        below = (batches["partition"] == partition) & (batches["last_offset"] < start)
        universe.keep("replica_batches", ~below)
        bounds = universe.frame("log_starts")
        bounds["log_start_offset"][bounds["partition"] == partition] = start
        samples = universe.frame("samples")
        later = (samples["partition"] == partition) & (samples["log_start_offset"] >= 0)
        later &= samples["at_micros"] >= universe.retained_micros
        samples["log_start_offset"][later] = start
        _retain_epochs(universe, partition, start)


def _retain_epochs(universe: Universe, partition: int, start: int) -> None:
    """Drop the epochs that began at or below the log start, except the newest.

    The newest one is changed to begin at the log start, as Kafka does.
    """
    epochs = universe.frame("epoch_checkpoints")
    drop = np.zeros(len(epochs), dtype=bool)
    for broker in np.unique(epochs["broker"]):
        mine = np.flatnonzero(epochs.where(partition=partition, broker=broker))
        early = mine[epochs["start_offset"][mine] <= start]
        if len(early):
            newest = early[np.argmax(epochs["leader_epoch"][early])]
            drop[early] = True
            drop[newest] = False
            epochs["start_offset"][newest] = start
    universe.keep("epoch_checkpoints", ~drop)


def _number_events(universe: Universe) -> None:
    """Number the events of a history by their time. All records of one poll have one number."""
    moments = [universe.frame(table)[column] for table, column in _EVENTS.items()]
    known = np.unique(np.concatenate(moments))
    for (table, _), mine in zip(_EVENTS.items(), moments, strict=True):
        frame = universe.frame(table)
        if "seq" in frame.columns:
            frame["seq"] = np.searchsorted(known, mine)
    histories = universe.frame("histories")
    histories["events"] = np.full(len(histories), len(known))


def _number_stored_commits(universe: Universe, numbering: Numbering) -> None:
    stored = universe.frame("committed_offsets")
    for partition in np.unique(stored["offsets_partition"]):
        mine = np.flatnonzero(stored["offsets_partition"] == partition)
        order = np.argsort(stored["committed_micros"][mine], kind="stable")
        first = numbering.offsets_offset[int(partition)]
        stored["offsets_offset"][mine[order]] = first + np.arange(len(mine))
        numbering.offsets_offset[int(partition)] += len(mine)


def _metadata_batches(universe: Universe) -> None:
    """One batch for each metadata record, in the logs of all its brokers."""
    changes, brokers = universe.frame("leaderships"), universe.frame("broker_states")
    offsets = np.concatenate([changes["metadata_offset"], brokers["metadata_offset"]])
    order = np.argsort(offsets)
    at = np.concatenate([changes["at_micros"], brokers["at_micros"]])[order]
    offsets = offsets[order]
    for server in universe.brokers:
        universe.write(
            "metadata_batches",
            len(offsets),
            server=server,
            base_offset=offsets,
            last_offset=offsets,
            metadata_epoch=universe.index + 1,
            size_bytes=_METADATA_BATCH_BYTES,
            checksum=offsets + 1,
            at_micros=at,
        )


def _number_metadata(universe: Universe, numbering: Numbering) -> None:
    """Give each metadata record an offset, in order of time, and each change a partition epoch."""
    changes, brokers = universe.frame("leaderships"), universe.frame("broker_states")
    at = np.concatenate([changes["at_micros"], brokers["at_micros"]])
    order_within = np.concatenate([changes["metadata_offset"], brokers["metadata_offset"]])
    order = np.lexsort([order_within, at])
    offsets = np.empty(len(at), dtype=np.int64)
    offsets[order] = numbering.metadata_offset + np.arange(len(at))
    numbering.metadata_offset += len(at)
    changes["metadata_offset"] = offsets[: len(changes)]
    brokers["metadata_offset"] = offsets[len(changes) :]
    for partition in np.unique(changes["partition"]):
        mine = np.flatnonzero(changes["partition"] == partition)
        by_offset = mine[np.argsort(changes["metadata_offset"][mine])]
        changes["partition_epoch"][by_offset] = np.arange(len(mine))
    first = int(brokers["metadata_offset"].min()) if len(brokers) else 0
    known = brokers["broker_epoch"] != NULL
    brokers["broker_epoch"][known] += first
