"""Buckets of a large trace's logs, and what its sources hold of each.

Where replicas, producers and groups agree about a bucket, nothing in it can be lost, skipped,
repeated or made up. `analysis.facts.suspects` selects the others.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.beginnings import beginnings
from analysis.facts.digests import BUCKET, DIGEST, LOG, bucket_start, is_same, summed
from analysis.facts.fates import markers, with_fates
from analysis.facts.load import Trace
from analysis.facts.positions import PARTITION, positions
from analysis.facts.stretches import given, held, sent
from contract.outcomes import Isolation


def fated(trace: Trace) -> Frame:
    """`sent`, and of each stretch of a transaction what `with_fates` adds, and is_split.

    is_split: whether its first and its last record end at different markers.
    """
    return trace.shared("fated", lambda: _fated(trace))


def _fated(trace: Trace) -> Frame:
    written = (
        sent(trace)
        .where("transaction is not null")
        .withColumn("offset", F.col("first_offset"))
        .withColumn("outcome", F.lit("ok"))
    )
    last = written.select(*LOG, F.col("last_offset").alias("offset")).distinct()
    last_markers = markers(trace, last).select(
        *LOG, F.col("offset").alias("last_offset"), F.col("marker_at").alias("_last_marker")
    )
    judged = (
        with_fates(written, trace)
        .join(last_markers, on=[*LOG, "last_offset"], how="left")
        .withColumn("is_split", ~F.col("marker_at").eqNullSafe(F.col("_last_marker")))
        .drop("offset", "outcome", "_last_marker")
    )
    others = sent(trace).where("transaction is null")
    return others.unionByName(judged, allowMissingColumns=True)


def log_buckets(trace: Trace) -> Frame:
    """What producers and replicas hold of each bucket.

    Columns: BUCKET; DIGEST by prefix: `sent_` of what was acknowledged, `seen_` of what of it no
    aborted transaction wrote, `held_` of what the surviving log holds; is_kept (whether it holds
    any), leader_epoch (of all that it holds; null if of several), is_alike (all survivors hold it
    alike), answered_last (microseconds).
    """
    return trace.shared("log_buckets", lambda: _log_buckets(trace))


def _log_buckets(trace: Trace) -> Frame:
    is_seen = F.col("transaction").isNull() | (F.col("fate") == "committed")
    by_producers = (
        fated(trace)
        .groupBy(*BUCKET)
        .agg(
            *summed("sent_"),
            *summed("seen_", where=is_seen),
            F.max("answered_last").alias("answered_last"),
        )
    )
    holders = trace.survivors.groupBy(*LOG).agg(F.count(F.lit(1)).alias("_survivors"))
    by_replicas = (
        held(trace)
        .groupBy(*BUCKET, "leader_epoch", *DIGEST)
        .agg(F.count(F.lit(1)).alias("_holders"))
        .join(F.broadcast(holders), on=list(LOG), how="left")
        .groupBy(*BUCKET)
        .agg(
            *summed("held_"),
            F.min(F.expr("_holders = _survivors")).alias("is_alike"),
            F.expr("if(count(*) = 1, min(leader_epoch), null)").alias("leader_epoch"),
        )
        .withColumn("is_kept", F.expr("true"))
    )
    return by_producers.join(by_replicas, on=list(BUCKET), how="full_outer").withColumn(
        "is_kept", F.coalesce("is_kept", F.expr("false"))
    )


def unlike_in_logs(trace: Trace) -> Frame:
    """Buckets about which producers and replicas differ.

    All that was acknowledged is below the log start and gone, or all of it is kept, alike in all
    survivors, and of one epoch.
    """
    bounds = F.broadcast(trace.log_bounds.select(*LOG, "log_start"))
    is_in_order = F.when(
        F.col("is_kept"),
        is_same("sent_", "held_") & F.expr("is_alike and leader_epoch is not null"),
    ).otherwise(bucket_start(1) <= F.col("log_start"))
    return (
        log_buckets(trace)
        .join(bounds, on=list(LOG), how="left")
        .where(~F.coalesce(is_in_order, F.expr("false")))
        .select(*BUCKET)
    )


def unlike_in_groups(trace: Trace) -> Frame:
    """Buckets of which some group was given something else than it should.

    That is all that it may see, once; or nothing of what lies outside of what it went through. What
    was deleted must have been given to every group, and to one at least.
    """
    given_by = given(trace).groupBy("group", *BUCKET).agg(*summed("got_"))
    readers = F.broadcast(trace.readers.select("group", "topic", "isolation"))
    expected = log_buckets(trace).join(readers, on="topic", how="left")
    reached = positions(trace).join(
        beginnings(trace).withColumnRenamed("first_offset", "_from"),
        on=list(PARTITION),
        how="left",
    )
    is_passed = (F.col("position") > bucket_start()) & (F.col("_from") < bucket_start(1))
    is_limited = F.col("isolation") == str(Isolation.READ_COMMITTED)
    is_right = (
        F.when(
            F.col("got_records").isNull(),
            F.col("is_kept")
            & (
                ~F.coalesce(is_passed, F.expr("false"))
                | F.expr("if(isolation = 'read_committed', seen_records, sent_records) = 0")
            ),
        )
        .when(F.col("is_kept") & is_limited, is_same("seen_", "got_"))
        .otherwise(is_same("sent_", "got_"))
    )
    return (
        expected.join(given_by, on=["group", *BUCKET], how="full_outer")
        .join(reached, on=list(PARTITION), how="left")
        .where(~F.coalesce(is_right, F.expr("false")))
        .select(*BUCKET)
    )
