"""The resets that clients reported, and what is known of the positions that they left."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import client_offsets
from analysis.facts.positions import PARTITION, offsets_of
from analysis.facts.slices import given_at
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_RAISED = (*PARTITION, "member", "seq")
_FAILED = (*_RAISED, "at_micros", "position", "divergent_offset")


def with_committed_epochs(resets: Frame, trace: Trace) -> Frame:
    """Let from_epoch be that of the group's commit at from_offset where the client kept none."""
    key = (*PARTITION, "member", "at_micros", "from_offset")
    stored = (
        client_offsets(trace)
        .where("not is_tombstone and committed_epoch >= 0")
        .select(
            *PARTITION, F.col("offset").alias("from_offset"), "committed_epoch", "committed_micros"
        )
    )
    before = (
        resets.select(*key)
        .distinct()
        .join(stored, on=[*PARTITION, "from_offset"], how="inner")
        .where("committed_micros <= at_micros")
        .groupBy(*key)
        .agg(F.max_by("committed_epoch", "committed_micros").alias("known_epoch"))
    )
    epoch = F.when(F.col("from_epoch") < 0, F.col("known_epoch")).otherwise(F.col("from_epoch"))
    return (
        resets.join(before, on=list(key), how="left")
        .withColumn("from_epoch", F.coalesce(epoch, "from_epoch"))
        .drop("known_epoch")
    )


def with_log_ends(resets: Frame, trace: Trace) -> Frame:
    """Add end_before and end_after: the log's end in the leader's samples around each reset.

    Before and after, also if clocks were apart.

    A sample before the reset counts only if no newer leader came between: it may have truncated the
    log.
    """
    reported = (
        trace["samples"]
        .where("log_end_offset >= 0 and broker = leader")
        .select(
            *_LOG,
            F.col("leader_epoch").alias("sampled_epoch"),
            "log_end_offset",
            F.col("at_micros").alias("sampled_micros"),
        )
    )
    led = trace["leaderships"].select(
        *_LOG, F.col("leader_epoch").alias("epoch"), F.col("at_micros").alias("led_micros")
    )
    key = (*PARTITION, "member", "at_micros")
    moments = resets.select(*key).distinct()
    led_then = (
        moments.join(led, on=list(_LOG), how="inner")
        .where(f"led_micros <= at_micros + {trace.skew_micros}")
        .groupBy(*key)
        .agg(F.max("epoch").alias("led_epoch"))
    )
    is_before = F.col("sampled_micros") <= F.col("at_micros") - trace.skew_micros
    is_after = F.col("sampled_micros") > F.col("at_micros") + trace.skew_micros
    is_of_that_leader = F.coalesce(F.col("sampled_epoch") >= F.col("led_epoch"), F.lit(1) == 1)
    sampled = (
        moments.join(led_then, on=list(key), how="left")
        .join(reported, on=list(_LOG), how="inner")
        .groupBy(*key)
        .agg(
            F.max_by(
                "log_end_offset", F.when(is_before & is_of_that_leader, F.col("sampled_micros"))
            ).alias("end_before"),
            F.min_by("log_end_offset", F.when(is_after, F.col("sampled_micros"))).alias(
                "end_after"
            ),
        )
    )
    return resets.join(sampled, on=list(key), how="left")


def with_position_epochs(raised: Frame, trace: Trace) -> Frame:
    """LogTruncationExceptions with the leader epoch of the consumer's position.

    There are three sources of this epoch: the exception reports it; the group was delivered the
    record before the position; the group committed the position with an epoch.

    Columns: those of `_FAILED`, and
        divergent_epoch: of the exception.
        known_epoch: the epoch of the first of these sources that has one; -1: none has one.
        asked_epoch: the largest epoch of these sources, which the client may have requested at
            most; null: none has one.
    """
    before = raised.where("position is not null").selectExpr(
        *PARTITION,
        "member as raised_by",
        "seq as raised_seq",
        "at_micros as raised_micros",
        "position - 1 as offset",
    )
    read = (
        given_at(before, trace)
        .where("if(member = raised_by, seq < raised_seq, at_micros <= raised_micros)")
        .where("leader_epoch >= 0")
        .groupBy(*PARTITION, F.col("raised_by").alias("member"), F.col("raised_seq").alias("seq"))
        .agg(F.max_by("leader_epoch", "at_micros").alias("read_epoch"))
    )
    committed = (
        raised.select(*_RAISED, "at_micros", F.col("position").alias("offset"))
        .join(
            offsets_of(trace).select(*PARTITION, "offset", "committed_epoch", "committed_micros"),
            on=[*PARTITION, "offset"],
            how="inner",
        )
        .where("committed_micros <= at_micros and committed_epoch >= 0")
        .groupBy(*_RAISED)
        .agg(F.max_by("committed_epoch", "committed_micros").alias("stored_epoch"))
    )
    return (
        raised.join(trace.engine.materialized(read), on=list(_RAISED), how="left")
        .join(committed, on=list(_RAISED), how="left")
        .selectExpr(
            *_FAILED,
            "divergent_epoch",
            "greatest(position_epoch, read_epoch, stored_epoch) as asked_epoch",
            "coalesce(if(position_epoch >= 0, position_epoch, null), read_epoch, stored_epoch, -1)"
            " as known_epoch",
        )
    )
