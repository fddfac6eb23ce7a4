"""Lies about what the replicas hold at the end, and what servers logged about it."""

from functools import partial
from random import Random

from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    UNDECIDED,
    Change,
    Lie,
    Verb,
    Where,
    alter,
    alter_all,
    chosen,
    drop,
    having,
    plus,
    repeat,
    without,
)
from bench.lies.of_sends import A_RECORD, at_offsets
from bench.lies.stories import BASELINE, EARLIEST, TRUNCATION
from contract.checks import Check

_lie = partial(Lie, story=BASELINE)
A_BATCH = ("topic", "partition", "base_offset")
_RECORD = ("offset", "leader_epoch", "value")
A_LOG = ("topic", "partition")


def batch(first: int, last: int) -> Where:
    """Batches that begin at some offsets."""
    return lambda row: first <= row["base_offset"] <= last and not row["is_control"]


def on(broker: int, where: Where = lambda _: True) -> Where:
    """Rows of a replica of the topics under test."""
    return lambda row: row["broker"] == broker and row["topic"][:2] != "__" and where(row)


def epoch(number: int) -> Where:
    """Rows of a leader epoch."""
    return lambda row: row["leader_epoch"] == number and row["topic"][:2] != "__"


def _records_of(tables: Tables, one: Row, brokers: set[int]) -> list[Row]:
    return [
        row
        for row in tables["replica_records"]
        if row["broker"] in brokers
        and (row["topic"], row["partition"]) == (one["topic"], one["partition"])
        and one["base_offset"] <= row["offset"] <= one["last_offset"]
    ]


def lose_batch(where: Where, *brokers: int, is_end: bool = False) -> Change:
    """Take a batch and its records out of some replicas; at the end, their logs end before it."""

    def change(tables: Tables, random: Random) -> None:
        one = chosen(tables, "replica_batches", on(brokers[0], where), random)[0]
        same = [
            row
            for row in tables["replica_batches"]
            if row["broker"] in brokers and all(row[name] == one[name] for name in A_BATCH)
        ]
        tables["replica_batches"] = without(tables["replica_batches"], same)
        gone = _records_of(tables, one, set(brokers))
        tables["replica_records"] = without(tables["replica_records"], gone)
        if is_end:
            for row in tables["log_starts"]:
                is_of_log = (row["topic"], row["partition"]) == (one["topic"], one["partition"])
                if row["broker"] in brokers and is_of_log:
                    row["log_end_offset"] = one["base_offset"]

    return change


def append_again(tables: Tables, random: Random) -> None:
    """Append the value of one record a second time, at the end of every replica."""
    one = chosen(tables, "replica_records", on(1, at_offsets(100, 900)), random)[0]
    for log in tables["log_starts"]:
        end, broker = log["log_end_offset"], log["broker"]
        copied = [
            row
            for row in tables["replica_batches"]
            if row["broker"] == broker and row["base_offset"] <= one["offset"] <= row["last_offset"]
        ]
        for row in copied:
            again = {"base_offset": end, "last_offset": end, "record_count": 1}
            sequence = {"base_sequence": end, "checksum": 1}
            tables["replica_batches"].append({**row, **again, **sequence})
        tables["replica_records"].append({**one, "broker": broker, "offset": end})
        log.update(log_end_offset=end + 1, high_watermark_checkpoint=end + 1)


def begin_at(offset: int) -> Change:
    """Let every replica's log begin at an offset, and hold nothing below it."""

    def change(tables: Tables, _: Random) -> None:
        for log in tables["log_starts"]:
            log["log_start_offset"] = offset
        tables["replica_batches"] = [
            row for row in tables["replica_batches"] if row["last_offset"] >= offset
        ]
        tables["replica_records"] = [
            row for row in tables["replica_records"] if row["offset"] >= offset
        ]

    return change


def an_old_value_again(tables: Tables, random: Random) -> None:
    """Put a value of the branch that was left back into the log, where its successor was read."""
    old = chosen(
        tables,
        "polls",
        lambda row: row["group"] == EARLIEST and row["leader_epoch"] == 1 and row["offset"] >= 100,  # noqa: PLR2004 - where the branches part
        random,
    )[0]
    where = having(topic=old["topic"], partition=old["partition"], offset=old["offset"])
    alter_all("replica_records", where, value=old["value"], leader_epoch=old["leader_epoch"])(
        tables, random
    )


def truncated_and_there(tables: Tables, random: Random) -> None:
    """Say of a record that a replica has that it was truncated there."""
    truncated = chosen(tables, "cut_records", having(topic="above"), random)[0]
    where = on(truncated["broker"], having(topic="above", offset=50))
    held = chosen(tables, "replica_records", where, random)[0]
    tables["cut_records"].append({**truncated, **{name: held[name] for name in _RECORD}})


BATCHES = (
    _lie("a record is missing in one replica, its batch is not", Verb.DROP, "replica_records",
         Check.HISTORY_CONSISTENT, drop("replica_records", on(2, at_offsets(100, 900))),
         verdict=UNDECIDED),
    _lie("a record is missing in every replica, its batch is not", Verb.DROP,
         "replica_records", Check.HISTORY_CONSISTENT,
         drop("replica_records", at_offsets(100, 900), same=A_RECORD), verdict=UNDECIDED),
    _lie("a batch is missing in one replica, its records are not", Verb.DROP,
         "replica_batches", Check.HISTORY_CONSISTENT,
         drop("replica_batches", on(2, batch(0, 0))), verdict=UNDECIDED),
    _lie("a batch is missing in every replica, its records are not", Verb.DROP,
         "replica_batches", Check.HISTORY_CONSISTENT,
         drop("replica_batches", batch(0, 0), same=A_BATCH), verdict=UNDECIDED),
    _lie("a batch and its records are missing in every replica", Verb.DROP, "replica_batches",
         Check.LOST_RECORD, lose_batch(batch(0, 900), 1, 2, 3)),
    _lie("the last batch and its records are missing in every replica", Verb.DROP,
         "replica_batches", Check.LOST_RECORD,
         lose_batch(batch(1200, 1999), 1, 2, 3, is_end=True)),
    _lie("a batch and its records are missing within one replica", Verb.DROP,
         "replica_batches", Check.LOG_DIVERGENCE, lose_batch(batch(0, 900), 2)),
    _lie("the last batch and its records are missing in one replica in sync", Verb.DROP,
         "replica_batches", Check.ISR_INCOMPLETE,
         lose_batch(batch(1200, 1999), 2, is_end=True)),
    _lie("a batch after a clean election is missing in every replica", Verb.DROP,
         "replica_batches", Check.LOST_RECORD, lose_batch(batch(0, 0), 1, 2), story=TRUNCATION),
    _lie("a batch of one replica has another checksum", Verb.ALTER, "replica_batches",
         Check.LOG_DIVERGENCE, alter("replica_batches", on(2, batch(0, 900)), checksum=7)),
    _lie("a value of the branch that was left is in the log again", Verb.ALTER,
         "replica_records", Check.RESURRECTED_RECORD, an_old_value_again, story=TRUNCATION),
    _lie("a batch of one replica is of another epoch", Verb.ALTER, "replica_batches",
         Check.EPOCH_CACHE_MISMATCH,
         alter("replica_batches", on(2, epoch(1)), leader_epoch=2), story=TRUNCATION),
    _lie("a batch is of a higher epoch than the next", Verb.ALTER, "replica_batches",
         Check.EPOCH_REGRESSED,
         alter("replica_batches", on(2, epoch(1)), leader_epoch=9), story=TRUNCATION),
    _lie("a batch of one replica ends later", Verb.SHIFT, "replica_batches",
         Check.HISTORY_CONSISTENT,
         alter("replica_batches", on(2, batch(0, 0)), last_offset=plus("last_offset", 5)),
         verdict=UNDECIDED),
    _lie("a batch of one replica claims more records than there are", Verb.SHIFT,
         "replica_batches", Check.HISTORY_CONSISTENT,
         alter("replica_batches", on(2, batch(0, 0)), record_count=plus("record_count", 5)),
         verdict=UNDECIDED),
    _lie("a value is in the log twice", Verb.REPEAT, "replica_records", Check.DUPLICATE_APPEND,
         append_again),
    _lie("a record of every replica has another value", Verb.ALTER, "replica_records",
         Check.INCONSISTENT_OFFSET,
         alter("replica_records", at_offsets(100, 900), same=A_RECORD, value="writer:9:00000000")),
    _lie("an acknowledged value is replaced in every replica", Verb.ALTER, "replica_records",
         Check.LOST_RECORD,
         alter("replica_records", at_offsets(100, 900), same=A_RECORD, value="writer:9:00000000")),
    _lie("a record of every replica is of another epoch than its batch", Verb.ALTER,
         "replica_records", Check.HISTORY_CONSISTENT,
         alter("replica_records", at_offsets(100, 900), same=A_RECORD, leader_epoch=4),
         verdict=UNDECIDED),
    _lie("a record is twice in one replica", Verb.REPEAT, "replica_records",
         Check.HISTORY_CONSISTENT, repeat("replica_records", on(2, at_offsets(100, 900))),
         verdict=UNDECIDED),
)  # fmt: skip
LOGS = (
    _lie("an epoch of the checkpoint begins elsewhere", Verb.SHIFT, "epoch_checkpoints",
         Check.EPOCH_CACHE_MISMATCH,
         alter("epoch_checkpoints", on(1, epoch(1)), start_offset=plus("start_offset", 7)),
         story=TRUNCATION),
    _lie("an epoch is missing in a checkpoint", Verb.DROP, "epoch_checkpoints",
         Check.EPOCH_CACHE_MISMATCH, drop("epoch_checkpoints", on(1, epoch(1))),
         story=TRUNCATION),
    _lie("a checkpoint names another epoch", Verb.ALTER, "epoch_checkpoints",
         Check.EPOCH_CACHE_MISMATCH,
         alter("epoch_checkpoints", on(1, epoch(1)), leader_epoch=2), story=TRUNCATION),
    _lie("a checkpoint has an epoch more", Verb.REPEAT, "epoch_checkpoints",
         Check.EPOCH_CACHE_MISMATCH,
         repeat("epoch_checkpoints", on(2), leader_epoch=plus("leader_epoch", 1),
                start_offset=500)),
    _lie("every replica begins at 700, with nothing that deletes", Verb.SHIFT, "log_starts",
         Check.RETENTION_OVERREACH, begin_at(700)),
    _lie("every replica begins at 700, and a group had not read so far", Verb.SHIFT,
         "log_starts", Check.RETENTION_OVERREACH,
         alter("log_starts", on(1), same=A_LOG, log_start_offset=700)),
    _lie("a replica begins above its high watermark", Verb.SHIFT, "log_starts",
         Check.RETENTION_OVERREACH,
         alter("log_starts", on(1), log_start_offset=2000, high_watermark_checkpoint=1500)),
    _lie("a replica ends before its last batch", Verb.SHIFT, "log_starts",
         Check.HISTORY_CONSISTENT,
         alter("log_starts", on(2), log_end_offset=plus("log_end_offset", -100)),
         verdict=UNDECIDED),
    _lie("a replica ends after its last batch", Verb.SHIFT, "log_starts",
         Check.HISTORY_CONSISTENT,
         alter("log_starts", on(2), log_end_offset=plus("log_end_offset", 100)),
         verdict=UNDECIDED),
    _lie("a replica was truncated below its divergence", Verb.SHIFT, "truncations",
         Check.OVER_TRUNCATION, alter("truncations", on(1), to_offset=60), story=TRUNCATION),
    _lie("a replica that led cleanly was truncated", Verb.ADD, "truncations",
         Check.OVER_TRUNCATION,
         repeat("truncations", on(1), to_offset=20, at_micros=plus("at_micros", -9_000_000)),
         story=TRUNCATION),
    _lie("a new epoch begins elsewhere than its checkpoint says", Verb.SHIFT,
         "leader_epoch_starts", Check.HISTORY_CONSISTENT,
         alter("leader_epoch_starts", epoch(3), start_offset=plus("start_offset", 30)),
         story=TRUNCATION, verdict=UNDECIDED),
    _lie("a record that was truncated is still in the log", Verb.REPEAT, "cut_records",
         Check.HISTORY_CONSISTENT,
         truncated_and_there,
         story=TRUNCATION, verdict=UNDECIDED),
)  # fmt: skip
