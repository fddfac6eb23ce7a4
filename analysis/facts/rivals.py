"""Offsets at which more than one value was seen: in the surviving log, or by a group.

The groups that were given a value are bits of a number: Spark sums up numbers where they are, and
sorts all rows for texts and sets.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.declared import LOG, SLICE
from analysis.facts.deliveries import deliveries
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int64, string

_LOG = ("topic", "partition")
_AT = (*_LOG, "offset")
_SLICE = (*_AT, "last_offset", "records")
_BITS = 63


@fact(
    *LOG,
    *SLICE,
    int32("leader_epoch"),
    string("value"),
    int64("groups", "those that were given it, as bits; see `with_readers`"),
    boolean("is_kept", "whether the surviving log has it"),
    int64("first_micros", "of its deliveries; null without any"),
    int64("last_micros", "likewise"),
    boolean("is_owed", "sent with acks=all"),
    int64("answered_micros", "when it was acknowledged with this offset; null if it was not"),
)
def rivals(trace: Trace) -> Frame:
    """The values of offsets that have several, in slices."""
    at_offset = Window.partitionBy(*_AT)
    several = (
        _seen(trace)
        .groupBy(*_SLICE, "leader_epoch", "value")
        .agg(
            F.bit_or("bit").alias("groups"),
            (F.min("bit") == 0).alias("is_kept"),
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("last_micros"),
        )
        .withColumn("_low", F.min("value").over(at_offset))
        .withColumn("_high", F.max("value").over(at_offset))
        .where("_low != _high")
        .drop("_low", "_high")
    )
    return several.join(_sent(trace), on=[*_LOG, "value"], how="left").select(
        *several.columns,
        F.col("_owed").isNotNull().alias("is_owed"),
        F.when(F.col("offset") == F.col("_offset"), F.col("_answered")).alias("answered_micros"),
    )


def with_readers(rows: Frame, trace: Trace) -> Frame:
    """Rows, and the names of the groups that are the bits of their `groups`, as `readers`.

    Where more than 63 groups read a topic, some share a bit, and are reported together.
    """
    named = _bits(trace).selectExpr("topic as _topic", "group as _group", "bit")
    return (
        rows.join(named, on=F.expr("_topic = topic and (groups & bit) != 0"), how="left")
        .groupBy(*rows.columns)
        .agg(F.concat_ws(", ", F.sort_array(F.collect_list("_group"))).alias("readers"))
    )


def _seen(trace: Trace) -> Frame:
    """What each group was given, and what the log holds: then bit is 0."""
    polls = slices.polls(trace).join(_bits(trace), on=["topic", "group"], how="inner")
    columns = (*_SLICE, "leader_epoch", "value")
    given_to = polls.select(*columns, "bit", "polled_micros")
    kept = slices.surviving(trace).select(
        *columns,
        F.lit(0).cast("bigint").alias("bit"),
        F.lit(None).cast("bigint").alias("polled_micros"),
    )
    return given_to.union(kept)


def _sent(trace: Trace) -> Frame:
    """Each value once, as its producer reports."""
    is_ok = F.col("outcome") == "ok"
    return (
        slices.sends(trace)
        .groupBy(*_LOG, "value")
        .agg(
            F.max(F.when(F.col("acks") == "all", 1)).alias("_owed"),
            F.min(F.when(is_ok, F.col("offset"))).alias("_offset"),
            F.min(F.when(is_ok, F.col("answered_micros"))).alias("_answered"),
        )
    )


@fact(string("topic"), string("group"), int64("bit"))
def _bits(trace: Trace) -> Frame:
    """A bit for each group that was given anything of a topic."""
    of_topic = Window.partitionBy("topic").orderBy("group")
    return (
        deliveries(trace)
        .select("topic", "group")
        .distinct()
        .withColumn("_place", F.row_number().over(of_topic) - 1)
        .selectExpr("topic", "group", f"shiftleft(cast(1 as bigint), _place % {_BITS}) as bit")
    )
