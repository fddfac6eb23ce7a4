"""What a run's sources lack, and so which tables can't be relied on.

A check that reads such a table is undecided: what it misses may be in the gap, and what it accuses
may only look so. What is merely odd, and leaves no gap, is told by `history_complete` alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace
from harness.contract.run_folder import GENERATED

_BY_DRIVER = ("faults", "phases", "waits", "clocks")
_BY_OBSERVER = ("samples", "transactions")
_BY_CLIENTS = ("sends", "polls", "commits", "group_events", "transactions")
_BY_ANYBODY = (*_BY_DRIVER, *_BY_OBSERVER, *_BY_CLIENTS)
_OF_ROLES = {"driver": _BY_DRIVER, "observer_worker": _BY_OBSERVER}
"""What a history tells; all other roles are clients."""
_OF_REPLICAS = ("replica_records", "replica_batches", "epoch_checkpoints", "log_starts")
_OF_TOPICS = {
    "__consumer_offsets": ("committed_offsets",),
    "__cluster_metadata": ("leaderships", "broker_states", "metadata_batches"),
}
"""What the segments of Kafka's own topics tell."""
INCOMPLETE = "missing_seqs > 0 or malformed_lines > 0 or (torn_lines > 0 and ended_by_itself)"
"""Of a row of `histories`: it has a gap. A last line torn by SIGKILL was never finished."""


@dataclass(frozen=True)
class Gap:
    """Something that is not there, and the tables that should have been made of it."""

    source: str
    tables: tuple[str, ...]
    reason: str
    is_in_history: bool = False
    """Of a history that is there, some lines."""


def gaps(trace: Trace) -> list[Gap]:
    """All that is known to be missing."""
    return trace.once("gaps", lambda: list(_found(trace)))


def _found(trace: Trace) -> Iterator[Gap]:
    told = trace["histories"].withColumn("is_incomplete", F.expr(INCOMPLETE)).collect()
    yield from _in_histories(told)
    yield from _missing_histories(trace, told)
    yield from _servers(trace)
    yield from _segments(trace)


def reasons(found: Iterable[Gap], tables: set[str]) -> str:
    """Why these tables can't be relied on, in words; empty if they can."""
    return "; ".join(sorted({gap.reason for gap in found if tables & set(gap.tables)}))


def _in_histories(told: list[Row]) -> Iterator[Gap]:
    for row in told:
        if not row["is_incomplete"]:
            continue
        lost = f"{row['missing_seqs']} events missing, {row['malformed_lines']} lines malformed"
        role = row["role"]
        tables = _OF_ROLES.get(role, _BY_CLIENTS) if role else _BY_ANYBODY
        reason = f"history of {row['worker']}: {lost}"
        yield Gap(row["worker"], tables, reason, is_in_history=True)


def _missing_histories(trace: Trace, told: list[Row]) -> Iterator[Gap]:
    """Who should have written a history, and left none."""
    rows = [row for row in told if row["role"] is not None]
    if not rows or trace.run.cluster == GENERATED:
        return
    roles, clients = {row["role"] for row in rows}, {row["client"] for row in rows}
    for role, tables in _OF_ROLES.items():
        if role not in roles:
            yield Gap(role, tables, f"there is no history of the {role}")
    for client in sorted({group.client for group in trace.plan.groups}):
        if not any(known and client.startswith(known) for known in clients):
            yield Gap(client, _BY_CLIENTS, f"there is no history of a {client} client")


def _servers(trace: Trace) -> Iterator[Gap]:
    if not trace.rows["servers"]:
        return
    collected = {row["server"]: row for row in trace["servers"].collect()}
    brokers = [
        row["broker"] for row in trace["broker_states"].select("broker").distinct().collect()
    ]
    for broker in sorted(brokers):
        row = collected.get(broker)
        if row is None or not row["replicas"]:
            yield Gap(
                f"broker {broker}",
                (*_OF_REPLICAS, "metadata_batches"),
                f"no replicas of broker {broker} were collected",
            )
        if row is None or not row["log_lines"]:
            yield Gap(f"broker {broker}", ("truncations",), f"no log of broker {broker}")


def _segments(trace: Trace) -> Iterator[Gap]:
    if not trace.rows["unread_segments"]:
        return
    for row in trace["unread_segments"].where("error is not null").collect():
        replica = f"{row['topic']}-{row['partition']} of broker {row['broker']}"
        yield Gap(
            replica,
            _OF_TOPICS.get(row["topic"], _OF_REPLICAS),
            f"{row['segment']} of {replica}: {row['error']}",
        )
