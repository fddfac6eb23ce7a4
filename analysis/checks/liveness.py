"""Who had to wait (taxonomy H): owed is service only while the cluster's own state admits it."""

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, Totals, count, findings
from analysis.load import Trace
from harness.contract.tables import MICROS_PER_SECOND

OUTAGE_SECONDS = 2
"""A value that waits so long for its answer tells of an outage; less is a slow machine's noise."""
OWED_SECONDS = 30
"""A partition that could be served has to be, after so long."""

_LOG = ("topic", "partition")


def produce_unavailable(trace: Trace) -> CheckOutcome:
    """A partition did not answer a producer, and for how long it could have.

    Waits of single values that overlap are one outage. Not counted in is the time in which, by the
    metadata log, the partition had no leader or fewer replicas in sync than `min.insync.replicas`,
    or in which clients were cut off. What remains is permitted up to OWED_SECONDS.
    """
    outages = trace.materialized(_outages(trace))
    excused = _unservable(trace).union(_cut_off(trace, outages))
    overlap = F.when(
        F.col("since").isNotNull(),
        F.least("ended", F.coalesce("until", "ended")) - F.greatest("at", "since"),
    )
    told = (
        outages.join(excused, on=list(_LOG), how="left")
        .groupBy(*_LOG, "at", "ended", "records", "unanswered")
        .agg(F.sum(F.greatest(F.coalesce(overlap, F.lit(0)), F.lit(0))).alias("excused"))
        .select(
            *_LOG,
            "at",
            "records",
            "unanswered",
            ((F.col("ended") - F.col("at")) / MICROS_PER_SECOND).alias("seconds"),
            (F.col("excused") / MICROS_PER_SECOND).alias("unservable_seconds"),
        )
    )
    told = trace.materialized(told)
    owed = F.col("seconds") - F.col("unservable_seconds")
    return CheckOutcome(
        findings(
            told,
            evidence=("seconds", "unservable_seconds", "records", "unanswered"),
            kind=F.lit("unavailable"),
            verdict=F.when(owed > OWED_SECONDS, "violation").otherwise("permitted"),
            cause=F.format_string(
                "%s values waited, all in all %.1f s, in %.1f s of which nobody could serve them",
                "records",
                "seconds",
                "unservable_seconds",
            ),
        ),
        count(trace["sends"].where("intended_micros is not null")),
        Totals(told.select(*_LOG, "seconds", "records"), _summary),
    )


def stuck_consumer(trace: Trace) -> CheckOutcome:
    """A member polled, and did not come to the log end in the time that it was given.

    Progress is owed only where no fault holds: a stall that ended while one did is permitted.
    """
    told = trace["group_events"].where("change in ('caught_up', 'stalled', 'failed')")
    stalls = told.where("change = 'stalled'").join(
        F.broadcast(trace.log_bounds.select(*_LOG, "log_end")), on=list(_LOG), how="left"
    )
    held = F.broadcast(trace["faults"].select("started_micros", "healed_micros"))
    is_held = (F.col("started_micros") <= F.col("at_micros")) & (
        F.col("healed_micros").isNull() | (F.col("healed_micros") > F.col("at_micros"))
    )
    under_a_fault = stalls.join(held, on=is_held, how="left_semi")
    by_itself = stalls.join(held, on=is_held, how="left_anti")
    return CheckOutcome(
        _stalls(under_a_fault, "while a fault held", "permitted").union(
            _stalls(by_itself, "no fault", "violation")
        ),
        count(told),
    )


def _stalls(stalls: DataFrame, kind: str, verdict: str) -> DataFrame:
    return findings(
        stalls,
        evidence=("member", "position", "log_end"),
        kind=F.lit(kind),
        verdict=F.lit(verdict),
        offset_first=F.col("position"),
        at=F.col("at_micros"),
        cause=F.when(F.col("partition") < 0, F.lit("was assigned no partition"))
        .when(F.col("position").isNull(), F.lit("had no position to read from"))
        .otherwise(F.format_string("came to %s, the log ends at %s", "position", "log_end")),
    )


def _outages(trace: Trace) -> DataFrame:
    """(topic, partition, at, ended, records, unanswered): waits that overlap, as one."""
    end = F.lit(trace.run.ended_micros or trace.run.started_micros)
    waited = (
        trace["sends"]
        .where("intended_micros is not null")
        .select(
            *_LOG,
            F.col("intended_micros").alias("at"),
            F.coalesce("answered_micros", end).alias("ended"),
            F.col("answered_micros").isNull().cast("int").alias("unanswered"),
        )
        .where(F.col("ended") - F.col("at") >= OUTAGE_SECONDS * MICROS_PER_SECOND)
    )
    order = Window.partitionBy(*_LOG).orderBy("at")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    is_first = F.coalesce(F.col("at") > F.max("ended").over(before), F.lit(True)).cast("int")
    return (
        waited.withColumn("_is_first", is_first)
        .withColumn("_outage", F.sum("_is_first").over(order))
        .groupBy(*_LOG, "_outage")
        .agg(
            F.min("at").alias("at"),
            F.max("ended").alias("ended"),
            F.count(F.lit(1)).alias("records"),
            F.sum("unanswered").alias("unanswered"),
        )
        .drop("_outage")
    )


def _unservable(trace: Trace) -> DataFrame:
    """(topic, partition, since, until): no leader, or too few in sync; `until` null: to the end."""
    order = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    return (
        trace["leaderships"]
        .withColumn("until", F.lead("at_micros").over(order))
        .join(F.broadcast(trace.topics.select("topic", "min_insync")), on="topic")
        .where((F.col("leader") < 0) | (F.size("isr") < F.col("min_insync")))
        .select(*_LOG, F.col("at_micros").alias("since"), "until")
    )


def _cut_off(trace: Trace, outages: DataFrame) -> DataFrame:
    """(topic, partition, since, until): clients stood still, or had no way to some broker."""
    cuts = trace["faults"].where("fault = 'cut clients' or target like 'client:%'")
    return (
        outages.select(*_LOG)
        .distinct()
        .crossJoin(
            F.broadcast(
                cuts.select(
                    F.col("started_micros").alias("since"), F.col("healed_micros").alias("until")
                )
            )
        )
    )


def _summary(rows: list[dict[str, Any]]) -> str:
    """Such as `4 outages, the longest 6.4 s on orders-0; 1,210 values waited`."""
    longest = max(rows, key=lambda row: row["seconds"])
    return (
        f"{len(rows)} outages, the longest {longest['seconds']:.1f} s on "
        f"{longest['topic']}-{longest['partition']}; "
        f"{sum(row['records'] for row in rows):,} values waited"
    )
