"""Lies about transactions: what was committed, fenced, marked and delivered."""

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
    chosen,
    drop,
    drop_all,
    fitting,
    having,
    plus,
)
from bench.lies.of_polls import A_POLL, undelivered
from bench.lies.of_replicas import A_BATCH
from bench.lies.stories import TRANSACTIONS
from contract.checks import Check
from contract.tables import MICROS_PER_SECOND

_lie = partial(Lie, story=TRANSACTIONS)
READER = "read_committed.orders"
ZOMBIE, SUCCESSOR = "sends-on.zombie", "sends-on.successor"
_BEFORE_MICROS = 30 * MICROS_PER_SECOND


def values_of(tables: Tables, producer: str) -> set[str]:
    """The values that a producer sent in its last transaction."""
    rows = fitting(tables, "sends", having(producer=producer, outcome="ok"))
    last = max(row["transaction"] or 0 for row in rows)
    return {row["value"] for row in rows if (row["transaction"] or 0) == last}


def not_delivered(*, is_whole: bool) -> Change:
    """Drop deliveries of a committed transaction: one, or all of them."""

    def change(tables: Tables, random: Random) -> None:
        values = values_of(tables, SUCCESSOR)

        def is_of_it(row: Row) -> bool:
            return row["group"] == READER and row["value"] in values

        lose = drop_all("polls", is_of_it) if is_whole else undelivered(is_of_it)
        lose(tables, random)

    return change


def deliver_aborted(tables: Tables, random: Random) -> None:
    """Deliver a value of an aborted transaction to a group that reads committed values."""
    aborted = values_of(tables, ZOMBIE)
    record = chosen(tables, "replica_records", lambda row: row["value"] in aborted, random)[0]
    where = having(group=READER, partition=record["partition"], topic=record["topic"])
    after = [row for row in fitting(tables, "polls", where) if row["offset"] > record["offset"]]
    one = min(after, key=lambda row: row["offset"])
    for row in tables["polls"]:
        is_of_poll = all(row[name] == one[name] for name in A_POLL)
        if is_of_poll and row["position_in_poll"] >= one["position_in_poll"] and row is not one:
            row["position_in_poll"] += 1
    names = ("offset", "leader_epoch", "value")
    tables["polls"].append({**one, **{name: record[name] for name in names}})
    one["position_in_poll"] += 1


def marker_of(producer: str, becomes: str | None) -> Change:
    """Change the markers that end a producer's last transaction, or drop them, in every replica."""

    def change(tables: Tables, random: Random) -> None:
        values = values_of(tables, producer)
        written = fitting(tables, "replica_records", lambda row: row["value"] in values)
        for topic, partition in sorted({(row["topic"], row["partition"]) for row in written}):
            log = having(topic=topic, partition=partition)
            first = _marker_after(tables, log, min(row["offset"] for row in written if log(row)))
            where = having(topic=topic, partition=partition, base_offset=first)
            if becomes is None:
                drop("replica_batches", where, same=A_BATCH)(tables, random)
            else:
                alter("replica_batches", where, same=A_BATCH, control_type=becomes)(tables, random)

    return change


def _marker_after(tables: Tables, log: Where, offset: int) -> int:
    """The offset of the marker that ends the transaction of the record at an offset."""
    batches = fitting(tables, "replica_batches", log)
    writer = next(
        row["producer_id"] for row in batches if row["base_offset"] <= offset <= row["last_offset"]
    )
    return min(
        int(row["base_offset"])
        for row in batches
        if row["is_control"] and row["producer_id"] == writer and row["base_offset"] > offset
    )


STEPS = (
    _lie("a record of a committed transaction was not delivered", Verb.DROP, "polls",
         Check.TORN_TRANSACTION, not_delivered(is_whole=False)),
    _lie("no record of a committed transaction was delivered", Verb.DROP, "polls",
         Check.TORN_TRANSACTION, not_delivered(is_whole=True)),
    _lie("a value of an aborted transaction was delivered", Verb.ADD, "polls",
         Check.ABORTED_READ, deliver_aborted),
    _lie("records of a transaction were delivered before its commit", Verb.SHIFT, "polls",
         Check.PRECOMMITTED_READ,
         alter("polls", having(group=READER), same=A_POLL,
               polled_micros=lambda row: row["polled_micros"] - _BEFORE_MICROS)),
    _lie("the marker of a committed transaction aborts", Verb.ALTER, "replica_batches",
         Check.MISAPPLIED_MARKER, marker_of(SUCCESSOR, "abort")),
    _lie("the marker of an aborted transaction commits", Verb.ALTER, "replica_batches",
         Check.MISAPPLIED_MARKER, marker_of(ZOMBIE, "commit"), verdict=UNDECIDED),
    _lie("the marker of a committed transaction is missing", Verb.DROP, "replica_batches",
         Check.HANGING_TRANSACTION, marker_of(SUCCESSOR, None)),
    _lie("a fenced producer's commit was taken", Verb.ALTER, "transactions",
         Check.ZOMBIE_PRODUCER_ACCEPTED,
         alter("transactions", having(producer=ZOMBIE, step="commit", outcome="failed"),
               change="committed", outcome="ok", error=None)),
    _lie("a producer sent a second after it was fenced, and was acknowledged", Verb.ALTER,
         "sends", Check.ZOMBIE_PRODUCER_ACCEPTED,
         alter("sends", having(producer=ZOMBIE, outcome="failed"), outcome="ok", error=None,
               offset=400, intended_micros=plus("intended_micros", MICROS_PER_SECOND),
               answered_micros=plus("answered_micros", MICROS_PER_SECOND))),
    _lie("a batch has a higher producer epoch than the next", Verb.SHIFT, "replica_batches",
         Check.ZOMBIE_PRODUCER_ACCEPTED,
         alter("replica_batches", having(is_control=False, is_transactional=True, base_offset=0),
               same=A_BATCH, producer_epoch=99)),
    _lie("the offsets of a committed transaction were aborted", Verb.ALTER,
         "committed_offsets", Check.OUTPUT_WITHOUT_OFFSETS,
         alter("committed_offsets", having(group="copier", marker="commit"), marker="abort",
               same=("group", "producer_id", "producer_epoch"))),
    _lie("the offsets of a committed transaction are not stored", Verb.DROP,
         "committed_offsets", Check.OUTPUT_WITHOUT_OFFSETS,
         drop("committed_offsets", having(group="copier", marker="commit"),
              same=("group", "producer_id", "producer_epoch"))),
    _lie("the copies of a transaction were aborted, its offsets were not", Verb.ALTER,
         "replica_batches", Check.OFFSETS_WITHOUT_OUTPUT,
         marker_of("copies.successor", "abort")),
)  # fmt: skip
