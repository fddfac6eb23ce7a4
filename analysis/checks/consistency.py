"""Whether what a run's sources say of one thing agrees (taxonomy M4).

Two sources that contradict each other prove that one of them is wrong, not that Kafka is.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.checks.logs import batches_against_records
from analysis.load import Trace
from analysis.stretches import given

_LOG = ("topic", "partition")
_MEMBER = ("group", "member", *_LOG)
_IS_AHEAD = (
    "position > given_next and (position <= next_last"
    " or coalesce(following > next_last and position > following, false))"
)
"""A member asks for its position when a poll has returned, and so has passed what that brought.
What follows may go back, as after a truncation: then it tells nothing."""
_BEGINS_SESSION = "change in ('opened', 'assigned', 'revoked', 'lost', 'failed')"


def history_consistent(trace: Trace) -> CheckOutcome:
    """M4: what members report agrees with their deliveries, and what replicas hold with itself.

    Kinds: `position behind`, below a record that the member was given before in the same session;
    `position ahead`, above a record that it was given next; `beyond the log`, above every offset
    that a replica, a sample, a send or a delivery knows; `not assigned`, where a member that
    reports what it was assigned was given records of another partition; `batches and records
    differ`, where those of a replica do not count the same. A reset of the partition in
    between explains the first two. All of it is undecided. Evaluates each reported position.
    """
    judged = _with_deliveries(trace)
    behind = judged.where("position <= given_before and not is_reset_before")
    ahead = judged.where(f"{_IS_AHEAD} and not is_reset_after")
    beyond = judged.join(F.broadcast(_known_ends(trace)), on=list(_LOG), how="inner").where(
        "position > known_end"
    )
    found = (
        behind.select(*_CONTRADICTION, F.lit("position behind").alias("kind"))
        .union(ahead.select(*_CONTRADICTION, F.lit("position ahead").alias("kind")))
        .union(beyond.select(*_CONTRADICTION, F.lit("beyond the log").alias("kind")))
    )
    of_positions = findings(
        trace.materialized(found),
        evidence=("member", "change", "position", "given_before", "given_next"),
        kind=F.col("kind"),
        verdict=F.lit("undecided"),
        offset_first=F.col("position"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "%s reported %s at position %s: %s", "member", "change", "position", "kind"
        ),
    )
    return CheckOutcome(
        of_positions.unionByName(_unassigned(trace)).unionByName(batches_against_records(trace)),
        count(judged),
    )


_CONTRADICTION = (
    *_MEMBER,
    "change",
    "position",
    "given_before",
    "given_next",
    "at_micros",
)


def _unassigned(trace: Trace) -> DataFrame:
    """Deliveries of partitions that are missing among what their member reports as assigned."""
    assigned = trace["group_events"].where("change = 'assigned'").select(*_MEMBER).distinct()
    reporting = assigned.select("group", "member").distinct()
    found = (
        given(trace)
        .groupBy(*_MEMBER)
        .agg(
            F.min("first_offset").alias("given_first"),
            F.max("last_offset").alias("given_last"),
            F.min("at_micros").alias("at_micros"),
        )
        .join(F.broadcast(reporting), on=["group", "member"], how="left_semi")
        .join(F.broadcast(assigned), on=list(_MEMBER), how="left_anti")
    )
    return findings(
        found,
        evidence=("member",),
        kind=F.lit("not assigned"),
        verdict=F.lit("undecided"),
        offset_first=F.col("given_first"),
        offset_last=F.col("given_last"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "%s was given offsets %s to %s, and reports no assignment of the partition",
            "member",
            "given_first",
            "given_last",
        ),
    )


def _with_deliveries(trace: Trace) -> DataFrame:
    """Reported positions with what their member was given before and next, in that session.

    Columns: those of _CONTRADICTION, next_last, following, is_reset_before, is_reset_after.
    """
    reported = trace["group_events"].select(
        *_MEMBER,
        "seq",
        "at_micros",
        "change",
        F.when(F.col("change").isin("assigned", "caught_up"), F.col("position")).alias("position"),
        F.expr(f"int({_BEGINS_SESSION})").alias("_begins"),
        F.lit(None).cast("bigint").alias("first"),
        F.lit(None).cast("bigint").alias("last"),
    )
    deliveries = (
        given(trace)
        .groupBy(*_MEMBER, "seq", "at_micros")
        .agg(F.min("first_offset").alias("first"), F.max("last_offset").alias("last"))
        .select(
            *_MEMBER,
            "seq",
            "at_micros",
            F.lit(None).cast("string").alias("change"),
            F.lit(None).cast("bigint").alias("position"),
            F.lit(0).alias("_begins"),
            "first",
            "last",
        )
    )
    in_turn = Window.partitionBy(*_MEMBER).orderBy("seq")
    deliveries = deliveries.withColumn("following", F.lead("first").over(in_turn)).withColumn(
        "_next", F.struct("first", "last", "following")
    )
    in_session = Window.partitionBy(*_MEMBER, "_session").orderBy("seq")
    back = Window.partitionBy(*_MEMBER, "_session").orderBy(F.desc("seq"))
    resets = (
        trace["resets"]
        .groupBy("member", *_LOG)
        .agg(F.collect_list("at_micros").alias("resets_micros"))
    )
    was_reset = "exists(resets_micros, one -> one between {} and {})"
    clock = trace.clock_micros
    return (
        reported.unionByName(deliveries, allowMissingColumns=True)
        .withColumn("_session", F.sum("_begins").over(in_turn))
        .withColumn("given_before", F.last("last", ignorenulls=True).over(in_session))
        .withColumn("_next", F.last("_next", ignorenulls=True).over(back))
        .withColumn("given_next", F.col("_next.first"))
        .withColumn("_given", F.when(F.col("first").isNotNull(), F.col("at_micros")))
        .withColumn("_before_micros", F.last("_given", ignorenulls=True).over(in_session))
        .withColumn("_next_micros", F.last("_given", ignorenulls=True).over(back))
        .where("position is not null")
        .join(F.broadcast(resets), on=["member", *_LOG], how="left")
        .selectExpr(
            *_CONTRADICTION,
            "_next.last as next_last",
            "_next.following as following",
            "coalesce("
            + was_reset.format(f"_before_micros - {clock}", f"at_micros + {clock}")
            + ", false) as is_reset_before",
            "coalesce("
            + was_reset.format(f"at_micros - {clock}", f"_next_micros + {clock}")
            + ", false) as is_reset_after",
        )
    )


def _known_ends(trace: Trace) -> DataFrame:
    """(topic, partition, known_end): the end of the longest log that anything in the run knew."""
    ends = (
        trace["log_starts"]
        .select(*_LOG, F.col("log_end_offset").alias("_end"))
        .union(trace["samples"].select(*_LOG, "log_end_offset"))
        .union(trace["cut_batches"].select(*_LOG, F.expr("last_offset + 1")))
        .union(trace.acknowledged.select(*_LOG, F.expr("offset + 1")))
        .union(given(trace).select(*_LOG, F.expr("last_offset + 1")))
    )
    return ends.groupBy(*_LOG).agg(F.max("_end").alias("known_end"))
