"""Under which leader epoch, and by which broker, a send was acknowledged.

An acknowledgement tells an offset, but not the epoch. Where the record survived, its batch has it.
Where it was lost, this is told, the first that can be:

- `seen`: the value stood at that offset in a poll, or stands in any replica, surviving or not, or
  stood in one when a fault on its server ended.
- `truncation`: a single broker that had led the partition cut its log at or below the offset
  since the value was sent. A record is gone only if its leader's log was cut, so it was that one,
  in its last reign that began before the acknowledgement.
- `offset`: the leader in force when the value was sent gave the offset to another record, which
  survived, so the leader before it acknowledged this one.
- `guess`: who led when the acknowledgement came. A zombie's is guessed wrongly.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.digests import outside
from analysis.load import Trace
from analysis.reigns import reigns

_LOG = ("topic", "partition")
_SEND = (*_LOG, "offset", "value")
_REIGN = (
    "named_struct('epoch', epoch, 'broker', broker, 'ended', until_micros, 'next', newer_epoch)"
)


def lost(trace: Trace) -> DataFrame:
    """Acknowledged sends whose value is not in the surviving log, with who acknowledged them.

    Of a large trace without those that were deleted in time, after every group had them. The
    columns of `sends`, and log_start, known_by, held_by (the brokers whose replicas held it before
    they were cut, as far as somebody looked), acknowledged_epoch, acknowledged_by,
    newer_epoch and until_micros (how that leader's reign ended; null if it did not),
    truncated_to and truncated_micros (where known by truncation).
    """
    return trace.shared("lost", lambda: _lost(trace), is_close=True)


def survived_late(trace: Trace) -> DataFrame:
    """Surviving sends that were acknowledged after their epoch's end, beyond the clocks' bound.

    Columns: topic, partition, offset, acks, producer, answered_micros, epoch, broker, newer_epoch,
    until_micros.
    """
    ended = reigns(trace).where("until_micros is not null")
    kept = closeup.surviving(trace).withColumnRenamed("leader_epoch", "epoch")
    return trace.materialized(
        closeup.acknowledged(trace)
        .join(kept, on=list(_SEND), how="inner")
        .join(F.broadcast(ended), on=[*_LOG, "epoch"], how="inner")
        .where("from_micros <= answered_micros")
        .where(f"answered_micros > until_micros + {trace.clock_micros}")
        .groupBy(*_SEND, "acks", "producer", "answered_micros", "epoch")
        .agg(F.expr(f"max_by({_REIGN}, from_micros)").alias("r"))
        .selectExpr(
            *_LOG,
            "offset",
            "acks",
            "producer",
            "answered_micros",
            "epoch",
            "r.broker as broker",
            "r.next as newer_epoch",
            "r.ended as until_micros",
        ),
        is_close=True,
    )


def _lost(trace: Trace) -> DataFrame:
    gone = trace.materialized(
        outside(closeup.acknowledged(trace), closeup.surviving(trace), *_LOG, "value").withColumn(
            "_id", F.monotonically_increasing_id()
        ),
        is_close=True,
    )
    known = (
        gone.select("_id", *_LOG, "offset", "intended_micros", "answered_micros")
        .join(F.broadcast(trace.log_bounds.drop("log_end")), on=list(_LOG), how="left")
        .join(_seen(gone, trace), on="_id", how="left")
        .join(_cut(gone, trace), on="_id", how="left")
        .join(_taken(gone, trace), on="_id", how="left")
        .join(F.broadcast(reigns(trace)), on=list(_LOG), how="left")
    )
    sent = "coalesce(intended_micros, answered_micros)"
    has_begun = "from_micros <= answered_micros"
    had_begun = f"from_micros <= {sent} - {trace.clock_micros}"
    had_ended = f"until_micros <= {sent} - {trace.clock_micros} and broker >= 0"
    is_cut = "cut_by is not null and (log_start is null or offset >= log_start)"
    same = ("log_start", "seen_epoch", "held_by", "taken_epoch", "cut_to", "cut_micros")
    by_way = known.groupBy("_id").agg(
        *(F.first(name).alias(name) for name in same),
        F.expr(
            f"max_by({_REIGN}, from_micros) filter (where epoch = seen_epoch"
            f" and from_micros <= answered_micros + {trace.clock_micros})"
        ).alias("seen"),
        F.expr(
            f"max_by({_REIGN}, from_micros) filter (where {is_cut} and broker = cut_by"
            f" and {has_begun})"
        ).alias("truncation"),
        F.expr(f"max_by({_REIGN}, until_micros) filter (where {had_ended})").alias("before"),
        F.expr(f"max_by(epoch, from_micros) filter (where {had_begun})").alias("epoch_then"),
        F.expr(f"max_by({_REIGN}, from_micros) filter (where {has_begun})").alias("guess"),
    )
    by_offset = "if(taken_epoch = epoch_then, before, null)"
    way = (
        "case when seen_epoch is not null then 'seen' when truncation is not null then 'truncation'"
        f" when {by_offset} is not null then 'offset' when guess is not null then 'guess' end"
    )
    told = f"if(seen_epoch is not null, seen, coalesce(truncation, {by_offset}, guess))"
    known_by = by_way.selectExpr("*", f"{way} as known_by", f"{told} as r")
    return gone.join(known_by, on="_id", how="inner").selectExpr(
        *(name for name in gone.columns if name != "_id"),
        "log_start",
        "known_by",
        "held_by",
        "coalesce(seen_epoch, r.epoch) as acknowledged_epoch",
        "r.broker as acknowledged_by",
        "r.next as newer_epoch",
        "r.ended as until_micros",
        "if(known_by = 'truncation', cut_to, null) as truncated_to",
        "if(known_by = 'truncation', cut_micros, null) as truncated_micros",
    )


def _seen(gone: DataFrame, trace: Trace) -> DataFrame:
    """The epoch under which a lost value stood at its offset, in any replica or poll.

    And held_by: the brokers whose replicas were seen to hold it before they were cut.
    """
    key = F.xxhash64(*_SEND).alias("_key")
    return (
        closeup.polls(trace)
        .select(key, "leader_epoch")
        .union(closeup.replica_records(trace).select(key, "leader_epoch"))
        .withColumn("broker", F.lit(None).cast("int"))
        .union(trace["cut_records"].select(key, "leader_epoch", "broker"))
        .join(gone.select(key, "_id"), on="_key", how="inner")
        .groupBy("_id")
        .agg(
            F.max("leader_epoch").alias("seen_epoch"),
            F.sort_array(F.collect_set("broker")).alias("held_by"),
        )
        .withColumn("held_by", F.expr("if(size(held_by) > 0, held_by, null)"))
    )


def _cut(gone: DataFrame, trace: Trace) -> DataFrame:
    """The only broker that had led, and cut its log at or below the offset since the send."""
    cuts = (
        trace["truncations"]
        .join(reigns(trace), on=[*_LOG, "broker"], how="inner")
        .selectExpr(*_LOG, "broker", "to_offset", "at_micros", "from_micros")
    )
    return (
        gone.select("_id", *_LOG, "offset", "intended_micros", "answered_micros")
        .join(F.broadcast(cuts), on=list(_LOG), how="inner")
        .where("to_offset <= offset and from_micros <= answered_micros")
        .where(f"at_micros >= coalesce(intended_micros, answered_micros) - {trace.clock_micros}")
        .groupBy("_id")
        .agg(
            F.expr("if(min(broker) = max(broker), min(broker), null)").alias("cut_by"),
            F.min_by("to_offset", "at_micros").alias("cut_to"),
            F.min("at_micros").alias("cut_micros"),
        )
    )


def _taken(gone: DataFrame, trace: Trace) -> DataFrame:
    """The epoch of the record that has a lost one's offset in the surviving log."""
    holders = closeup.surviving(trace).select(*_LOG, "offset", "leader_epoch")
    return (
        gone.select("_id", *_LOG, "offset")
        .join(holders, on=[*_LOG, "offset"], how="inner")
        .groupBy("_id")
        .agg(F.max("leader_epoch").alias("taken_epoch"))
    )
