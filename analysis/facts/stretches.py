"""A trace's large tables in short: one pass over each, one row for many records.

A stretch is records at consecutive offsets that have all else in common: of one poll, of one
producer's values in a row, of one replica. On a large trace it also ends with its bucket of
offsets, and has the digest of what lies in it (see `analysis.facts.digests`).
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts.digests import BUCKET, LOG, bucket_of, digest
from analysis.facts.load import Trace

_NEVER = 2**62
_MEMBER = ("worker", "group", "member", *LOG)


def one_record() -> Column:
    """`records` of a row that is a single one, beside rows of stretches."""
    return F.lit(1).cast("bigint").alias("records")


def given(trace: Trace) -> Frame:
    """What groups were given, in stretches of one poll and one leader epoch.

    Columns: worker, group, member, topic, partition, seq, at_micros, leader_epoch, _shift (offset
    less place in the poll, the same for all of it), _bucket, first_offset, last_offset,
    first_place, last_place, records; on a large trace DIGEST.
    """
    return trace.shared("given", lambda: _given(trace), is_heavy=True)


def _given(trace: Trace) -> Frame:
    shift = (F.col("offset") - F.col("position_in_poll")).alias("_shift")
    at = F.col("polled_micros").alias("at_micros")
    return (
        trace["polls"]
        .groupBy(*_MEMBER, "seq", at, "leader_epoch", shift, _bucket(trace))
        .agg(
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
            F.min("position_in_poll").alias("first_place"),
            F.max("position_in_poll").alias("last_place"),
            *_told(trace),
        )
    )


def sent(trace: Trace) -> Frame:
    """What was acknowledged, of a large trace, in stretches of one producer and transaction.

    Columns: producer, topic, partition, transaction, acks, _shift (offset less sequence), _bucket,
    first_sequence, last_sequence, first_offset, last_offset, intended_first, intended_last,
    answered_first, answered_last, written_last (as its producer reports, or else when it was
    answered), waited_micros (the longest), DIGEST.
    """
    return trace.shared("sent", lambda: _sent(trace), is_heavy=True)


def _sent(trace: Trace) -> Frame:
    shift = (F.col("offset") - F.col("sequence")).alias("_shift")
    written = F.coalesce("intended_micros", "answered_micros")
    waited = F.expr(f"coalesce(answered_micros, {_NEVER}) - intended_micros")
    return trace.acknowledged.groupBy(
        "producer", *LOG, "transaction", "acks", shift, bucket_of("offset").alias("_bucket")
    ).agg(
        F.min("sequence").alias("first_sequence"),
        F.max("sequence").alias("last_sequence"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.min("intended_micros").alias("intended_first"),
        F.max("intended_micros").alias("intended_last"),
        F.min("answered_micros").alias("answered_first"),
        F.max("answered_micros").alias("answered_last"),
        F.max(written).alias("written_last"),
        F.max(waited).alias("waited_micros"),
        *digest("offset", "value"),
    )


def held(trace: Trace) -> Frame:
    """What surviving replicas hold, not deleted, of a large trace.

    Columns: broker, topic, partition, leader_epoch, _bucket, DIGEST.
    """
    return trace.shared("held", lambda: _held(trace), is_heavy=True)


def _held(trace: Trace) -> Frame:
    records = trace.kept(trace["replica_records"])
    return records.groupBy(
        "broker", *LOG, "leader_epoch", bucket_of("offset").alias("_bucket")
    ).agg(*digest("offset", "value"))


def _bucket(trace: Trace) -> Column:
    bucket = F.lit(0) if trace.is_small else bucket_of("offset")
    return bucket.alias(BUCKET[-1])


def _told(trace: Trace) -> list[Column]:
    if trace.is_small:
        return [F.count(F.lit(1)).alias("records")]
    return list(digest("offset", "value"))
