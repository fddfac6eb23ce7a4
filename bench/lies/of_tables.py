"""Lies about whole tables: gone, empty, with other columns, damaged."""

from collections.abc import Callable, Iterable
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from bench.lies.alone import Damage, FileLie
from bench.lies.lie import Verb
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.tables import TABLES

KEY_OF = {
    "sends": ("outcome", Check.LOST_RECORD),
    "polls": ("first_offset", Check.SKIPPED_RECORD),
    "commits": ("offset", Check.LOST_COMMIT),
    "committed_offsets": ("offset", Check.COMMIT_BEYOND_LOG),
    "group_events": ("change", Check.UNJUSTIFIED_RESET),
    "resets": ("from_offset", Check.UNJUSTIFIED_RESET),
    "leaderships": ("leader_epoch", Check.EPOCH_REGRESSED),
    "broker_states": ("is_fenced", Check.FENCED_IN_ISR),
    "replica_batches": ("base_offset", Check.LOG_DIVERGENCE),
    "replica_records": ("value", Check.LOST_RECORD),
    "epoch_checkpoints": ("start_offset", Check.EPOCH_CACHE_MISMATCH),
    "log_starts": ("log_end_offset", Check.LOST_RECORD),
    "truncations": ("to_offset", Check.OVER_TRUNCATION),
    "cut_batches": ("base_offset", Check.LOSS_ESTIMATE),
    "cut_records": ("value", Check.LOSS_ESTIMATE),
    "samples": ("log_end_offset", Check.HIGH_WATERMARK_REGRESSED),
    "faults": ("landed", Check.FAULT_LANDED),
    "phases": ("stage", Check.PHASE_OVERRUN),
    "clocks": ("ahead_micros", Check.CLOCK_SKEW),
    "histories": ("missing_seqs", Check.HISTORY_COMPLETE),
    "servers": ("replicas", Check.HISTORY_COMPLETE),
    "unread_segments": ("error", Check.HISTORY_COMPLETE),
    "metadata_batches": ("checksum", Check.METADATA_DIVERGENCE),
}
"""By table: a column that its checks can't do without, and one of these checks."""


def remove(table: str) -> Damage:
    """Remove a table's file."""
    return lambda folder, _: (folder.tables / f"{table}.parquet").unlink()


def empty(table: str) -> Damage:
    """Leave a table without rows."""
    return lambda folder, _: pq.write_table(
        TABLES[table].empty_table(), folder.tables / f"{table}.parquet"
    )


def rewritten(table: str, change: Callable[[pa.Table], pa.Table]) -> Damage:
    """Write a table again, changed."""

    def damage(folder: RunFolder, _: Random) -> None:
        path = folder.tables / f"{table}.parquet"
        pq.write_table(change(pq.read_table(path)), path)

    return damage


def rename(table: str, column: str) -> Damage:
    """Give a column another name."""
    return rewritten(table, lambda rows: rows.rename_columns({column: f"{column}_"}))


def without_column(table: str, column: str) -> Damage:
    """Leave a column out."""
    return rewritten(table, lambda rows: rows.drop_columns([column]))


def retype(table: str, column: str) -> Damage:
    """Write a column as text, and one of texts as bytes."""

    def change(rows: pa.Table) -> pa.Table:
        index = rows.column_names.index(column)
        is_text = pa.types.is_string(rows.schema.field(column).type)
        texts = pa.array([f"<{value}>" for value in rows.column(column).to_pylist()])
        other = texts.cast(pa.binary()) if is_text else texts
        return rows.set_column(index, column, other)

    return rewritten(table, change)


def damage_file(table: str) -> Damage:
    """Truncate a table's file in the middle."""

    def damage(folder: RunFolder, _: Random) -> None:
        path = folder.tables / f"{table}.parquet"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])

    return damage


def _lies(
    verb: Verb,
    text: str,
    make: Callable[[str, str], Damage],
    of: Iterable[str] = tuple(KEY_OF),
) -> tuple[FileLie, ...]:
    return tuple(
        FileLie(
            name=f"table {table} {text.format(column=KEY_OF[table][0])}",
            verb=verb,
            of=table,
            tables=(table,),
            check=KEY_OF[table][1],
            change=make(table, KEY_OF[table][0]),
        )
        for table in of
    )


_FEW = ("sends", "polls", "committed_offsets", "leaderships", "replica_records", "log_starts")
"""Tables for which every kind of unreadable file is tried; one reader reads them all."""

REMOVED = _lies(Verb.REMOVE, "is missing", lambda table, _: remove(table))
EMPTIED = _lies(
    Verb.EMPTY,
    "is empty",
    lambda table, _: empty(table),
    of=tuple(table for table in KEY_OF if table != "unread_segments"),
)
RENAMED = _lies(Verb.RENAME, "has column {column} under another name", rename)
RETYPED = _lies(Verb.RETYPE, "has column {column} of another type", retype, of=_FEW)
WITHOUT = _lies(Verb.DROP, "has no column {column}", without_column, of=_FEW)
DAMAGED = _lies(Verb.TRUNCATE, "is half a file", lambda table, _: damage_file(table), of=_FEW)
