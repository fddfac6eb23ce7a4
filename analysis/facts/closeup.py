"""The records that checks look at one by one: of a large trace, only those in need of it.

A check that looks at single records asks here for `polls`, `sends`, `surviving` and
`replica_records`. Of a small trace that is all of them. Of a large one it is those of the buckets
that `analysis.facts.suspects` selects; elsewhere all sources agree, and what a check wants to know
of them `in_brief` and `settled` give in stretches (docs/decisions/0010).

A value is sent once. So where one that is looked at has its send in a bucket that is not, that
bucket is looked at too: all rows about a value are here, or none of it.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.digests import BUCKET, LOG, bucket_start, outside, with_bucket
from analysis.facts.load import IS_ACKNOWLEDGED, IS_UNACKNOWLEDGED, Trace
from analysis.facts.orderly import fated, log_buckets
from analysis.facts.stretches import one_record
from analysis.facts.suspects import suspects

_RECORD = (*LOG, "offset", "leader_epoch", "value")
_BRIEF = (
    "producer",
    *LOG,
    "transaction",
    "acks",
    "first_offset",
    "last_offset",
    "records",
    "intended_first",
    "intended_last",
    "answered_first",
    "written_last",
)


def polls(trace: Trace) -> Frame:
    """Rows of `polls`."""
    return _near(trace, "polls")


def sends(trace: Trace) -> Frame:
    """Rows of `sends`; all that were not acknowledged are among them."""
    return _near(trace, "sends")


def acknowledged(trace: Trace) -> Frame:
    """Rows of `sends` that were acknowledged with an offset."""
    return sends(trace).where(IS_ACKNOWLEDGED)


def replica_records(trace: Trace) -> Frame:
    """Rows of `replica_records`."""
    return _near(trace, "replica_records")


def surviving(trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch, value): what the log holds at the end.

    That is any surviving replica, at or above the log start: a segment keeps deleted records
    until all of it is deleted.
    """
    return trace.shared(
        "surviving",
        lambda: trace.kept(replica_records(trace)).select(*_RECORD).distinct(),
        is_close=True,
    )


def in_brief(trace: Trace) -> Frame:
    """All acknowledged sends, in stretches of one record at least.

    Columns: producer, topic, partition, transaction, acks, first_offset, last_offset, records,
    intended_first, intended_last, answered_first, written_last (microseconds; when a value was
    written by its producer's clock, or else when it was answered).
    """
    written = F.coalesce("intended_micros", "answered_micros")
    single = acknowledged(trace).select(
        *_BRIEF[:5],
        F.col("offset").alias("first_offset"),
        F.col("offset").alias("last_offset"),
        one_record(),
        F.col("intended_micros").alias("intended_first"),
        F.col("intended_micros").alias("intended_last"),
        F.col("answered_micros").alias("answered_first"),
        written.alias("written_last"),
    )
    return single if trace.is_small else single.union(settled(trace).select(*_BRIEF))


def settled(trace: Trace) -> Frame:
    """Of a large trace, the stretches of acknowledged sends that need no closer look.

    Columns: those of `fated`, is_kept (whether the log holds them), leader_epoch (then).
    """
    return trace.shared(
        "settled",
        lambda: fated(trace).join(orderly(trace), on=list(BUCKET), how="inner"),
    )


def orderly(trace: Trace) -> Frame:
    """(topic, partition, _bucket, is_kept, leader_epoch): of a large trace, where all is in order.

    leader_epoch is that of all records there, if the log keeps them.
    """
    return trace.shared(
        "orderly",
        lambda: (
            log_buckets(trace)
            .join(doubtful(trace), on=list(BUCKET), how="left_anti")
            .select(*BUCKET, "is_kept", "leader_epoch")
        ),
    )


def doubtful(trace: Trace) -> Frame:
    """(topic, partition, _bucket): of a large trace, where records are looked at one by one."""
    return trace.shared("doubtful", lambda: _suspected(trace).union(_of_strays(trace)))


def _suspected(trace: Trace) -> Frame:
    return trace.shared("suspects", lambda: suspects(trace))


def _of_strays(trace: Trace) -> Frame:
    """Further buckets, with sends of values that were seen in those that are suspected."""
    return trace.shared("of_strays", lambda: _found_strays(trace))


def _found_strays(trace: Trace) -> Frame:
    key = (*LOG, "value")
    seen = _suspected_rows(trace, "polls").where("is_intact").select(*key)
    strays = trace.engine.materialized(
        outside(
            seen.union(_suspected_rows(trace, "replica_records").select(*key)),
            _suspected_rows(trace, "sends"),
            *key,
        ).distinct(),
        is_close=True,
    )
    if strays.isEmpty():
        return _suspected(trace).limit(0)
    found = trace.engine.materialized(
        with_bucket(trace.acknowledged)
        .join(F.broadcast(strays), on=list(key), how="left_semi")
        .select(*BUCKET)
        .distinct(),
        is_heavy=True,
    )
    return found.join(_suspected(trace), on=list(BUCKET), how="left_anti")


def _near(trace: Trace, table: str) -> Frame:
    if trace.is_small:
        return trace[table]
    rows = _suspected_rows(trace, table)
    more = _of_strays(trace)
    if more.isEmpty():
        return rows
    further = trace.shared(
        f"further {table}",
        lambda: _in_buckets(trace[table], more).where("_is_near").drop("_is_near"),
        is_heavy=True,
    )
    return rows.union(further)


def _suspected_rows(trace: Trace, table: str) -> Frame:
    near = F.col("_is_near")
    if table == "sends":
        near |= F.expr(IS_UNACKNOWLEDGED)

    def rows() -> Frame:
        all_rows = _without_copies(trace) if table == "replica_records" else trace[table]
        return _in_buckets(all_rows, _suspected(trace)).where(near).drop("_is_near")

    return trace.close_up(table, rows)


def _without_copies(trace: Trace) -> Frame:
    """Rows of `replica_records`, of one replica only where all that survive hold a bucket alike."""
    first = trace.survivors.groupBy(*LOG).agg(F.min("broker").alias("_first"))
    copies = trace.survivors.join(first, on=list(LOG)).where("broker != _first")
    starts = F.broadcast(trace.log_bounds.select(*LOG, "log_start"))
    alike = trace.engine.materialized(
        log_buckets(trace)
        .where("is_kept and is_alike")
        .join(starts, on=list(LOG), how="left")
        .where(F.coalesce(bucket_start() >= F.col("log_start"), F.expr("true")))
        .join(_suspected(trace), on=list(BUCKET), how="left_semi")
        .join(copies, on=list(LOG), how="inner")
        .select("broker", *BUCKET)
    )
    return (
        with_bucket(trace["replica_records"])
        .join(F.broadcast(alike), on=["broker", *BUCKET], how="left_anti")
        .drop("_bucket")
    )


def _in_buckets(rows: Frame, buckets: Frame) -> Frame:
    """Rows with _is_near: true in the buckets, else null."""
    near = F.broadcast(buckets.withColumn("_is_near", F.expr("true")))
    return with_bucket(rows).join(near, on=list(BUCKET), how="left").drop("_bucket")
