"""Rows of micro-histories: one topic `t`, one partition, one group `g`."""

from pathlib import Path
from typing import Any

from analysis.statements.files import expand
from analysis.statements.trace import Trace
from contract.events import make_value

Row = dict[str, Any]

_LOG = {"topic": "t", "partition": 0}


def sent(*offsets: int, producer: str = "p", acks: str = "all", at: int = 100) -> list[Row]:
    """Acknowledged sends, one an offset."""
    return [
        {
            **_LOG,
            "worker": "w",
            "producer": producer,
            "sequence": offset,
            "value": make_value(producer, offset),
            "offset": offset,
            "acks": acks,
            "outcome": "ok",
            "intended_micros": at,
            "answered_micros": at,
        }
        for offset in offsets
    ]


def polled(
    *offsets: int,
    epoch: int = 0,
    producer: str = "p",
    life: int = 1,
    at: int = 200,
) -> list[Row]:
    """Deliveries to the group's member of a life, one an offset."""
    return [
        {
            **_LOG,
            "worker": "w",
            "group": "g",
            "member": f"g#{life}",
            "offset": offset,
            "leader_epoch": epoch,
            "value": make_value(producer, offset),
            "is_intact": True,
            "seq": at,
            "position_in_poll": index,
            "polled_micros": at,
        }
        for index, offset in enumerate(offsets)
    ]


def survived(*offsets: int, epoch: int = 0, producer: str = "p", broker: int = 1) -> list[Row]:
    """Records in a replica at the end."""
    return [
        {
            **_LOG,
            "broker": broker,
            "offset": offset,
            "leader_epoch": epoch,
            "value": make_value(producer, offset),
        }
        for offset in offsets
    ]


def changed(
    change: str, *, life: int = 1, at: int, position: int | None = None, **fields: Any
) -> Row:
    """A change of the group's member."""
    return {
        **_LOG,
        "worker": "w",
        "group": "g",
        "member": f"g#{life}",
        "change": change,
        "position": position,
        "seq": at,
        "at_micros": at,
        **fields,
    }


def committed(offset: int, epoch: int, *, at: int = 300) -> Row:
    """A commit as the coordinator stored it."""
    return {
        **_LOG,
        "group": "g",
        "offset": offset,
        "committed_epoch": epoch,
        "metadata": "",
        "is_tombstone": False,
        "offsets_partition": 0,
        "offsets_offset": at,
        "committed_micros": at,
    }


def reported_commit(
    offset: int, epoch: int = 0, *, life: int = 1, at: int = 300, outcome: str = "ok"
) -> Row:
    """A commit as the client tells it."""
    return {
        **_LOG,
        "worker": "w",
        "group": "g",
        "member": f"g#{life}",
        "offset": offset,
        "committed_epoch": epoch,
        "commit_epoch": "record",
        "outcome": outcome,
        "seq": at,
        "committed_micros": at,
    }


def led(epoch: int, *, at: int, leader: int = 1) -> Row:
    """A leadership from the metadata log."""
    return {
        **_LOG,
        "leader": leader,
        "leader_epoch": epoch,
        "partition_epoch": epoch,
        "replicas": [1, 2],
        "isr": [leader],
        "elr": [],
        "metadata_offset": at,
        "metadata_epoch": 1,
        "at_micros": at,
    }


def registered(*, fenced: bool, at: int, broker: int = 1) -> Row:
    """A change of a broker's registration, from the metadata log."""
    return {
        "broker": broker,
        "broker_epoch": 1,
        "is_fenced": fenced,
        "in_controlled_shutdown": False,
        "metadata_offset": at,
        "at_micros": at,
    }


def epochs(*starts: tuple[int, int], broker: int = 1) -> list[Row]:
    """Lines of a replica's leader-epoch-checkpoint: (epoch, start offset)."""
    return [
        {**_LOG, "broker": broker, "leader_epoch": epoch, "start_offset": start}
        for epoch, start in starts
    ]


def log_bounds(start: int, end: int, *, broker: int = 1) -> list[Row]:
    """A replica's bounds at the end."""
    return [{**_LOG, "broker": broker, "log_start_offset": start, "log_end_offset": end}]


def batch(first: int, last: int, *, epoch: int = 0, broker: int = 1, checksum: int = 1) -> Row:
    """A batch in a replica at the end."""
    return {
        **_LOG,
        "broker": broker,
        "base_offset": first,
        "last_offset": last,
        "leader_epoch": epoch,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "record_count": last - first + 1,
        "size_bytes": 100,
        "checksum": checksum,
    }


def truncated(to: int, *, at: int, broker: int = 1) -> Row:
    """A truncation that a server logged."""
    return {**_LOG, "broker": broker, "to_offset": to, "at_micros": at, "log_line": "line"}


def sampled(
    end: int, *, at: int, start: int = 0, epoch: int = 0, broker: int = 1, leader: int = 1
) -> Row:
    """A broker's answer to the observer."""
    return {
        **_LOG,
        "broker": broker,
        "leader": leader,
        "leader_epoch": epoch,
        "isr": [leader],
        "log_start_offset": start,
        "log_end_offset": end,
        "at_micros": at,
    }


def reset_reported(
    cause: str,
    start: int,
    epoch: int,
    to: int | None,
    *,
    life: int = 2,
    at: int = 500,
    policy: str = "earliest",
) -> Row:
    """A reset from a client's log."""
    return {
        **_LOG,
        "worker": "w",
        "group": "g",
        "member": f"g#{life}",
        "cause": cause,
        "policy": policy,
        "from_offset": start,
        "from_epoch": epoch,
        "to_offset": to,
        "to_epoch": -1,
        "log_line": "line",
        "at_micros": at,
    }


def appended(
    server: int, base: int, *, epoch: int = 1, checksum: int = 1, leader: int | None = None
) -> Row:
    """A batch of one record in a server's metadata log."""
    return {
        "server": server,
        "base_offset": base,
        "last_offset": base,
        "metadata_epoch": epoch,
        "size_bytes": 70,
        "checksum": checksum,
        "leader": leader,
        "at_micros": base,
    }


def commit(*, took: int, outcome: str = "ok", error: str | None = None) -> Row:
    """A commit that a client made at 10 s, and how many seconds it took."""
    return {
        "topic": "t",
        "partition": 0,
        "group": "g",
        "member": "g#1",
        "offset": 1,
        "outcome": outcome,
        "error": error,
        "began_micros": 10_000_000,
        "committed_micros": (10 + took) * 1_000_000,
    }


def clock(node: str, *, ahead: int, behind: int) -> Row:
    """A reading of a node's clock."""
    return {"node": node, "ahead_micros": ahead, "behind_micros": behind, "at_micros": 5}


def epoch_started(epoch: int, start: int, *, at: int, broker: int = 1) -> Row:
    """An epoch that a server logged it leads, with where it starts."""
    return {
        **_LOG,
        "broker": broker,
        "leader_epoch": epoch,
        "start_offset": start,
        "at_micros": at,
        "log_line": "line",
    }


def log_started(start: int, *, at: int, broker: int = 1, reason: str = "segment deletion") -> Row:
    """An advance of a replica's log start that its server logged."""
    return {
        **_LOG,
        "broker": broker,
        "log_start_offset": start,
        "reason": reason,
        "at_micros": at,
        "log_line": "line",
    }


def query_rows(trace: Trace, statement: str) -> list[Row]:
    """The rows of a statement, which may use macros."""
    return trace.ask(expand(statement, Path("micro.sql")))
