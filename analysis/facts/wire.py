"""What a broker knew when it answered a request: its leader epoch, its epoch cache, its log end.

All bounds hold at some time between the request and its response. A broker has no later epoch than
the metadata log at the response, and no older one than it proved to have before the request.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.state import timelines
from analysis.facts.topics import of_present_topic, with_log_starts
from analysis.facts.trace import Trace, fact
from contract.quorum_rules import METADATA_LOG
from contract.table_columns import boolean, int32

FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75
NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE = 6, 1
NOT_COMPARED = (3, 29, 31, 35, 56, 100, 103)
"""Errors that a broker returns before it compares epochs: of topics, authorization and disks."""

_LOG = ("topic", "partition")
_CALL = ("worker", "seq", *_LOG)
_REFUSED = f"error_code in ({FENCED_LEADER_EPOCH}, {UNKNOWN_LEADER_EPOCH})"
UNCOMPARED = ", ".join(map(str, NOT_COMPARED))


@fact(
    *of_table("wire_calls"),
    int32(
        "epoch_low", "the lower bound of the broker's leader epoch of the partition; null: unknown"
    ),
    int32("epoch_high", "the upper one"),
    boolean("leads", "whether the broker leads it in the epoch `epoch_high`"),
    int32(
        "known_epoch",
        "the broker's epoch, by its bounds, or because it accepted that of the request",
    ),
)
def wire_calls(trace: Trace) -> Frame:
    """Requests about partitions, with what the broker knew.

    Without the metadata log, whose leaders and epochs are those of the quorum.
    """
    of_brokers = trace["wire_calls"].where(f"topic != '{METADATA_LOG}'")
    calls = of_present_topic(of_brokers, trace, "began_micros")
    led = of_present_topic(trace["leaderships"], trace, "at_micros").select(
        *_LOG,
        F.col("leader_epoch").alias("led_epoch"),
        F.col("leader").alias("led_by"),
        F.col("at_micros").alias("led_micros"),
        "metadata_offset",
    )
    newest = (
        calls.select(*_CALL, "at_micros")
        .join(led, on=list(_LOG), how="inner")
        .where(f"led_micros <= at_micros + {trace.clock_micros}")
        .groupBy(*_CALL)
        .agg(
            F.max("led_epoch").alias("epoch_high"),
            F.expr("max_by(led_by, metadata_offset)").alias("led_by"),
        )
    )
    proved = (
        calls.select(*_CALL, "broker", "began_micros")
        .join(_proofs(calls, trace), on=["broker", *_LOG], how="inner")
        .join(newest.select(*_CALL, "epoch_high"), on=list(_CALL), how="inner")
        .where("proved_micros <= began_micros and proved_epoch <= epoch_high")
        .groupBy(*_CALL)
        .agg(F.max("proved_epoch").alias("epoch_low"))
    )
    return (
        calls.join(newest, on=list(_CALL), how="left")
        .join(proved, on=list(_CALL), how="left")
        .withColumn("leads", F.expr("coalesce(broker = led_by, false)"))
        .withColumn(
            "known_epoch",
            F.expr(
                f"case when current_leader_epoch >= 0 and error_code is not null"
                f" and not {_REFUSED} and error_code not in ({UNCOMPARED})"
                f" and current_leader_epoch between coalesce(epoch_low, 0) and epoch_high"
                f" then current_leader_epoch when epoch_low = epoch_high then epoch_low end"
            ),
        )
        .drop("led_by")
    )


def _proofs(calls: Frame, trace: Trace) -> Frame:
    """(broker, topic, partition, proved_epoch, proved_micros): a broker accepted this epoch.

    By a request of the test, or by the observer's ListOffsets, which names the epoch.
    """
    of_calls = calls.where(
        f"current_leader_epoch >= 0 and error_code is not null and not {_REFUSED}"
        f" and error_code not in ({UNCOMPARED})"
    ).selectExpr("broker", *_LOG, "current_leader_epoch as proved_epoch", "at_micros")
    of_samples = of_present_topic(trace["samples"], trace, "at_micros").where("log_end_offset >= 0")
    return (
        of_samples.selectExpr("broker", *_LOG, "leader_epoch as proved_epoch", "at_micros")
        .union(of_calls)
        .groupBy("broker", *_LOG, "proved_epoch")
        .agg(F.min("at_micros").alias("proved_micros"))
    )


def with_cache(calls: Frame, trace: Trace) -> Frame:
    """Add what the leader's epoch cache says: is_known, log_start, floors, next starts, log ends.

    Columns: is_known (else the others may be wrong), log_start, asked_floor (the newest cached
    epoch up to asked_epoch), asked_next (the start of the oldest one above it), offset_floor (the
    cached epoch of `offset`), end_low and end_high (bounds of the log end; end_high is null where
    a later epoch may have shortened the log). See `LeaderEpochFileCache`.

    Args:
        calls: rows of `wire_calls` that leaders answered.
        trace: the run.
    """
    bounded = _with_log_bounds(calls, trace)
    floors = _floors(_cached(bounded, trace))
    return (
        bounded.join(floors, on=list(_CALL), how="left")
        .join(_log_ends(bounded, trace), on=list(_CALL), how="left")
        .withColumn(
            "is_known",
            F.expr("coalesce(known_epoch is not null and log_low = log_high and is_exact, false)"),
        )
        .withColumnRenamed("log_high", "log_start")
    )


def _with_log_bounds(calls: Frame, trace: Trace) -> Frame:
    """Add log_low and log_high: the log start when the request was sent, and at its response."""
    began = calls.selectExpr(*_LOG, "began_micros as at_micros")
    moments = began.union(calls.select(*_LOG, "at_micros")).distinct()
    starts = with_log_starts(moments, trace)
    low = starts.selectExpr(*_LOG, "at_micros as began_micros", "start_low as log_low")
    high = starts.selectExpr(*_LOG, "at_micros", "start_high as log_high")
    return calls.join(low, on=[*_LOG, "began_micros"], how="left").join(
        high, on=[*_LOG, "at_micros"], how="left"
    )


def _cached(calls: Frame, trace: Trace) -> Frame:
    """One row for each epoch in the leader's cache at a call, with its start then.

    An entry is removed by a later one that starts at or below it. Entries below the log start are
    removed, but for the newest of them, which then starts there.
    """
    epochs = timelines(trace).select(*_LOG, F.explode("timeline").alias("one"))
    starts = epochs.selectExpr(
        *_LOG,
        "one.leader_epoch as cached_epoch",
        "one.start_high as cached_start",
        "coalesce(one.start_low = one.start_high, false) as is_exact",
    )
    of_call = Window.partitionBy(*_CALL)
    later = of_call.orderBy("cached_epoch").rowsBetween(1, Window.unboundedFollowing)
    return (
        calls.select(*_CALL, "asked_epoch", "offset", "known_epoch", "log_high")
        .join(starts, on=list(_LOG), how="inner")
        .where("cached_epoch <= known_epoch")
        .withColumn("_later", F.min("cached_start").over(later))
        .withColumn("are_exact", F.min("is_exact").over(of_call))
        .where("_later is null or _later > cached_start")
        .withColumn("_below", F.expr("if(cached_start <= log_high, cached_epoch, null)"))
        .withColumn("_oldest", F.max("_below").over(of_call))
        .where("_oldest is null or cached_epoch >= _oldest")
        .withColumn("cached_start", F.greatest("cached_start", "log_high"))
    )


def _floors(cached: Frame) -> Frame:
    return cached.groupBy(*_CALL).agg(
        F.expr("min(are_exact)").alias("is_exact"),
        F.expr("max(cached_epoch) filter (where cached_epoch <= asked_epoch)").alias("asked_floor"),
        F.expr("min(cached_start) filter (where cached_epoch > asked_epoch)").alias("asked_next"),
        F.expr("max(cached_epoch) filter (where cached_start <= offset)").alias("offset_floor"),
        F.expr("max(cached_start) filter (where cached_epoch = known_epoch)").alias("_own_start"),
    )


def _log_ends(calls: Frame, trace: Trace) -> Frame:
    """(of a call, end_low, end_high): bounds of the leader's log end."""
    sampled = trace["samples"].selectExpr(
        "broker",
        *_LOG,
        "leader_epoch as known_epoch",
        "log_end_offset as _end",
        "at_micros as _end_micros",
    )
    before = (
        calls.select(*_CALL, "broker", "known_epoch", "began_micros")
        .join(sampled, on=["broker", *_LOG, "known_epoch"], how="inner")
        .where("_end_micros <= began_micros")
        .groupBy(*_CALL)
        .agg(F.max("_end").alias("_end"))
    )
    newest = of_present_topic(trace["leaderships"], trace, "at_micros").groupBy(*_LOG)
    return (
        calls.select(*_CALL, "known_epoch")
        .join(before, on=list(_CALL), how="left")
        .join(newest.agg(F.max("leader_epoch").alias("_newest")), on=list(_LOG), how="left")
        .join(trace.log_bounds, on=list(_LOG), how="left")
        .selectExpr(
            *_CALL,
            "coalesce(_end, 0) as end_low",
            "if(known_epoch = _newest, log_end, null) as end_high",
        )
    )
