"""Tables that contradict each other, are empty, or are not there."""

from typing import Any

from tests.exam.history import NONE, NOT_EVALUABLE, NOT_VIOLATION, UNDECIDED, History, asks
from tests.exam.transaction_verbs import Batch, replica, replicas
from tests.exam.verbs import begun, left, plain, quiet, reads_to, watched

NEVER_A_PASS = (
    "docs/findings.md: not_evaluable where there is nothing to judge, which is never a pass"
)
UNDECIDED_BY_NAME = (
    "CONTRIBUTING.md, A tampering: damaged evidence is undecided; no check accuses because of it"
)


@asks(
    "Records 40 to 59 of a replica are in `replica_records`, and no batch of `replica_batches` "
    "holds them.",
    source=UNDECIDED_BY_NAME,
    expects={"history_consistent": UNDECIDED, "lost_record": NOT_VIOLATION},
)
def records_without_their_batch(h: History) -> None:
    _half_collected(h, "replica_batches", 40)


@asks(
    "A batch 40 to 59 of a replica is in `replica_batches`, and its records are not in "
    "`replica_records`.",
    source=UNDECIDED_BY_NAME,
    expects={
        "history_consistent": UNDECIDED,
        "lost_record": NOT_VIOLATION,
        "log_divergence": NOT_VIOLATION,
    },
)
def batch_without_its_records(h: History) -> None:
    _half_collected(h, "replica_records", 40)


@asks(
    "A transaction's control batches hold no data record.",
    source="contract/tables_of_servers.py: replica_records has data records, control batches "
    "have none",
    expects={"history_consistent": NONE, "lost_record": NONE, "log_divergence": NONE},
)
def control_batches_have_no_records(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 39, at=2.0, transaction=0)
    watched(h, 1, 41)
    replicas(h, Batch(0, 39, pid=1, base_sequence=0), Batch(40, 40, pid=1, control="commit"))
    reads_to(h, 39)
    left(h, 41, at=80.0, caught_up=True)


@asks(
    "The tables of stored commits, leaders, transactions, clocks and phases are missing.",
    source=NEVER_A_PASS,
    expects={
        "lost_commit": NOT_EVALUABLE,
        "commit_mismatch": NOT_EVALUABLE,
        "committed_epoch_unknown": NOT_EVALUABLE,
        "committed_epoch_behind_leader": NOT_EVALUABLE,
        "hanging_transaction": NOT_EVALUABLE,
        "clock_skew": NOT_EVALUABLE,
        "phase_overrun": NOT_EVALUABLE,
        "never_caught_up": NOT_EVALUABLE,
    },
    alone=True,
)
def tables_are_missing(h: History) -> None:
    quiet(h)
    tables = ("committed_offsets", "leaderships", "transactions", "clocks", "phases")
    for table in tables:
        h.rows.pop(table, None)
        h.missing.add(table)


@asks(
    "Nobody read, committed or wrote in a transaction: the tables are there, and empty.",
    source=NEVER_A_PASS,
    expects={
        "commit_regressed": NOT_EVALUABLE,
        "commit_beyond_processed": NOT_EVALUABLE,
        "commit_from_old_generation": NOT_EVALUABLE,
        "double_ownership": NOT_EVALUABLE,
        "start_mismatch": NOT_EVALUABLE,
        "committed_epoch_stale": NOT_EVALUABLE,
        "orphan_commit": NOT_EVALUABLE,
        "record_epoch_regressed": NOT_EVALUABLE,
        "aborted_read": NOT_EVALUABLE,
        "torn_transaction": NOT_EVALUABLE,
        "write_cycle": NOT_EVALUABLE,
        "misapplied_marker": NOT_EVALUABLE,
        "offsets_without_output": NOT_EVALUABLE,
        "stuck_consumer": NOT_EVALUABLE,
        "commit_unavailable": NOT_EVALUABLE,
        "fetch_unavailable": NOT_EVALUABLE,
    },
    alone=True,
)
def nobody_read(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)


@asks(
    "The table of replicas' records is empty, while that of their batches is full.",
    source=UNDECIDED_BY_NAME,
    expects={
        "lost_record": NOT_VIOLATION,
        "leader_completeness": NOT_VIOLATION,
        "phantom_record": NOT_VIOLATION,
        "history_consistent": UNDECIDED,
    },
    alone=True,
)
def replica_records_are_emptied(h: History) -> None:
    quiet(h)
    h.rows["replica_records"] = []


def _half_collected(h: History, table: str, first: int) -> None:
    """Of broker 2's replica, the rows of 40 to 59 are missing in one of its two tables."""
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100)
    for broker in (1, 2):
        replica(h, broker, Batch(0, 39), Batch(40, 59), Batch(60, 99))
    reads_to(h, 99)
    left(h, 100, at=80.0, caught_up=True)
    h.rows[table] = [row for row in h.rows[table] if not _is_missing(h, row, first)]


def _is_missing(h: History, row: dict[str, Any], first: int) -> bool:
    offset = row.get("offset", row.get("base_offset"))
    return row["broker"] == h.broker(2) and first <= offset < first + 20
