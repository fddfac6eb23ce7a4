"""Tables without rows though other tables imply that they had some."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.facts.gap import Gap
from analysis.facts.offsets import client_offsets
from analysis.facts.trace import Trace


@dataclass(frozen=True)
class _Implied:
    """A table that has rows if another one has some that satisfy a condition.

    Attributes:
        table: that should have rows.
        by: the other one.
        where: SQL of its rows; empty for any.
        role: who writes a history in runs to which it applies; empty where servers were collected.
    """

    table: str
    by: str
    where: str = ""
    role: str = ""


_CLIENTS = "clients"
"""Any role that is neither the driver's nor the observer's."""
_HAS_RECORDS = "record_count > 0 and not coalesce(is_control, false)"
_IS_STORED = "not is_tombstone and coalesce(producer_id, -1) < 0"
_IS_ACKNOWLEDGED = "outcome = 'ok' and offset is not null"
_IS_LOGGED = "exception = 'LogTruncationException'"
"""The client logs the reset, or that it has no policy to reset by, before it raises."""
_IMPLIED = (
    _Implied("log_starts", by="leaderships"),
    _Implied("replica_batches", by="log_starts", where="log_end_offset > log_start_offset"),
    _Implied("replica_batches", by="replica_records"),
    _Implied("replica_records", by="replica_batches", where=_HAS_RECORDS),
    _Implied("epoch_checkpoints", by="replica_batches", where="leader_epoch >= 0"),
    _Implied("metadata_batches", by="leaderships"),
    _Implied("leaderships", by="log_starts"),
    _Implied("broker_states", by="leaderships"),
    _Implied("cut_records", by="cut_batches", where="record_count > 1"),
    _Implied("cut_batches", by="cut_records"),
    _Implied("sends", by="replica_records"),
    _Implied("group_events", by="polls", role=_CLIENTS),
    _Implied("group_events", by="commits", role=_CLIENTS),
    _Implied("resets", by="group_events", where=_IS_LOGGED, role=_CLIENTS),
    _Implied("polls", by="group_events", where="change = 'caught_up' and position > 0"),
    _Implied("commits", by="committed_offsets", where=_IS_STORED, role=_CLIENTS),
    _Implied("committed_offsets", by="commits", where=_IS_ACKNOWLEDGED),
    _Implied("transactions", by="sends", where="transaction is not null", role=_CLIENTS),
    _Implied("samples", by="leaderships", role="observer_worker"),
    _Implied("phases", by="histories", role="driver"),
    _Implied("clocks", by="phases", role="driver"),
)


def emptied(trace: Trace, roles: set[str]) -> Iterator[Gap]:
    """A gap for each such table.

    Args:
        trace: of the run.
        roles: of which there are histories.
    """
    if trace.is_generated:
        return
    known = roles | ({_CLIENTS} if roles - {"driver", "observer_worker"} else set())
    if trace.rows["servers"]:
        known.add("")
    for one in _IMPLIED:
        is_empty = not trace.rows[one.table] and not trace.problem(one.table)
        if is_empty and one.role in known and _has_rows(trace, one):
            reason = f"table {one.table} is empty, but table {one.by} implies rows of it"
            yield Gap(one.table, (one.table,), reason)


def _has_rows(trace: Trace, implied: _Implied) -> bool:
    if not trace.rows[implied.by]:
        return False
    is_of_commits = implied.by == "committed_offsets"
    found = client_offsets(trace) if is_of_commits else trace.present(implied.by)
    return not implied.where or bool(found.where(implied.where).limit(1).collect())
