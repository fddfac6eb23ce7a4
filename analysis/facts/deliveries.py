"""Deliveries and acknowledged sends as ranges, with their times."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, OF_GROUP, each, of_table
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import MEMBER, int32, int64, string

_LOG = ("topic", "partition")
_MEMBER = ("worker", "group", "member", *_LOG)


@fact(
    *MEMBER,
    *LOG,
    *each(int64, "seq at_micros"),
    int32("leader_epoch"),
    int64("_shift", "offset less place in the poll, the same for all of it"),
    *each(int64, "first_offset last_offset"),
    int32("first_place"),
    *each(int64, "last_place records"),
)
def deliveries(trace: Trace) -> Frame:
    """What groups were delivered: one row for the records of one poll and one leader epoch."""
    length = F.expr("last_offset - first_offset")
    shift = (F.col("first_offset") - F.col("first_place")).alias("_shift")
    at = F.col("polled_micros").alias("at_micros")
    return (
        trace["polls"]
        .groupBy(*_MEMBER, "seq", at, "leader_epoch", shift)
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.min("first_place").alias("first_place"),
            F.max(F.col("first_place") + length).alias("last_place"),
            F.sum(length + 1).alias("records"),
        )
    )


@view(
    *OF_GROUP,
    string("member"),
    *each(int64, "seq at_micros"),
    int32("leader_epoch"),
    *each(int64, "first_offset last_offset"),
    int32("first_place"),
)
def delivered_ranges(trace: Trace) -> Frame:
    """All that groups were given, in ranges of one poll, one leader epoch and one producer."""
    return trace["polls"].withColumnRenamed("polled_micros", "at_micros")


@view(*of_table("sends"), int64("records", "how many values"))
def sends(trace: Trace) -> Frame:
    """`sends`, with the number of values in a range."""
    return trace["sends"].withColumn("records", F.expr("last_sequence - first_sequence + 1"))


@view(
    string("producer"),
    *LOG,
    int32("transaction"),
    string("acks"),
    *each(int64, "first_sequence last_sequence first_offset last_offset records"),
    *each(int64, "intended_micros answered_micros"),
    int64(
        "written_micros",
        "when a value was written by its producer's clock, or else when it was answered",
    ),
)
def acknowledged_sends(trace: Trace) -> Frame:
    """All acknowledged sends, as the ranges in which they were sent."""
    return trace.acknowledged.selectExpr(
        "*",
        "last_offset - first_offset + 1 as records",
        "coalesce(intended_micros, answered_micros) as written_micros",
    )


@fact(*of_table("resets"))
def client_resets(trace: Trace) -> Frame:
    """Rows of `resets`, with the offset to which the client went; and the application's seeks.

    librdkafka may log the offset that it left as the target. Then it is the first one that the
    member was delivered since. Of a seek the cause is `seek`; it has no policy and no line.
    """
    key = ("group", "member", *_LOG, "at_micros")
    is_unmoved = "cause != 'no_commit' and to_offset = from_offset"
    unmoved = trace["resets"].where(is_unmoved).select(*key).distinct()
    fetched = (
        unmoved.join(
            deliveries(trace).withColumnRenamed("at_micros", "_given"),
            on=["group", "member", *_LOG],
            how="inner",
        )
        .where("_given >= at_micros")
        .groupBy(*key)
        .agg(F.min_by("first_offset", F.struct("seq", "first_place")).alias("_fetched"))
    )
    sought = (
        trace.present("group_events")
        .where("change = 'sought'")
        .selectExpr(
            "worker",
            "group",
            "member",
            *_LOG,
            "'seek' as cause",
            "position as to_offset",
            "at_micros",
        )
    )
    return (
        trace["resets"]
        .join(fetched, on=list(key), how="left")
        .withColumn("to_offset", F.coalesce("_fetched", "to_offset"))
        .drop("_fetched")
        .unionByName(sought, allowMissingColumns=True)
    )
