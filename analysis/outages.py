"""Waits that overlap as one outage, and how much of it the cluster's own state excuses."""

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, Totals, findings
from analysis.load import Trace
from analysis.reigns import states
from harness.contract.tables import MICROS_PER_SECOND

OUTAGE_SECONDS = 2
"""What waits so long for its answer tells of an outage; less is a slow machine's noise."""
OWED_SECONDS = 30
"""A partition that could be served has to be, after so long."""

_LOG = ("topic", "partition")
_TOLD = ("at", "records", "unanswered", "seconds", "unservable_seconds", "recovery_seconds")


def outages(waits: DataFrame, *keys: str) -> DataFrame:
    """Waits of OUTAGE_SECONDS or more, those that overlap as one.

    Args:
        waits: with the keys, at, ended (microseconds) and unanswered (0 or 1).
        keys: what an outage is of.

    Returns:
        The keys, at, ended, records (how many waited), unanswered (how many of them in vain).
    """
    order = Window.partitionBy(*keys).orderBy("at")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    is_first = F.coalesce(F.col("at") > F.max("ended").over(before), F.lit(1) == 1).cast("int")
    return (
        waits.where(F.col("ended") - F.col("at") >= OUTAGE_SECONDS * MICROS_PER_SECOND)
        .withColumn("_is_first", is_first)
        .withColumn("_outage", F.sum("_is_first").over(order))
        .groupBy(*keys, "_outage")
        .agg(
            F.min("at").alias("at"),
            F.max("ended").alias("ended"),
            F.count(F.lit(1)).alias("records"),
            F.sum("unanswered").alias("unanswered"),
        )
        .drop("_outage")
    )


def unavailable(
    trace: Trace, found: DataFrame, *keys: str, judged: DataFrame, needs_insync: bool
) -> CheckOutcome:
    """Outages of partitions as findings: more than OWED_SECONDS of service owed is a violation.

    Not owed is the time in which, by the metadata log, the partition had no leader, or clients were
    cut off. `recovery_seconds` is what passed from when it could be served until it was.

    Args:
        trace: whose.
        found: as of `outages`; topic and partition are those that the service needs.
        keys: of the outages, topic and partition among them.
        judged: how much could have waited, as one row named `evaluated`.
        needs_insync: not owed either with fewer than `min.insync.replicas` in sync.
    """
    found = trace.materialized(found)
    excused = unservable(trace, needs_insync=needs_insync).union(_cut_off(trace, found))
    overlap = F.when(
        F.col("since").isNotNull(),
        F.least("ended", F.coalesce("until", "ended")) - F.greatest("at", "since"),
    )
    until = F.when(overlap > 0, F.least("ended", F.coalesce("until", "ended")))
    told = (
        found.join(excused, on=list(_LOG), how="left")
        .groupBy(*keys, "at", "ended", "records", "unanswered")
        .agg(
            F.sum(F.greatest(F.coalesce(overlap, F.lit(0)), F.lit(0))).alias("excused"),
            F.max(until).alias("servable"),
        )
        .select(
            *keys,
            "at",
            "records",
            "unanswered",
            ((F.col("ended") - F.col("at")) / MICROS_PER_SECOND).alias("seconds"),
            (F.col("excused") / MICROS_PER_SECOND).alias("unservable_seconds"),
            ((F.col("ended") - F.coalesce("servable", "at")) / MICROS_PER_SECOND).alias(
                "recovery_seconds"
            ),
        )
    )
    told = trace.materialized(told)
    owed = F.col("seconds") - F.col("unservable_seconds")
    return CheckOutcome(
        findings(
            told,
            evidence=_TOLD[1:],
            kind=F.lit("unavailable"),
            verdict=F.when(owed > OWED_SECONDS, "violation").otherwise("permitted"),
            cause=F.format_string(
                "%s waited, all in all %.1f s, in %.1f s of which nobody could serve them",
                "records",
                "seconds",
                "unservable_seconds",
            ),
        ),
        judged,
        Totals(told.select(*_LOG, "seconds", "records"), _summary),
    )


def unservable(trace: Trace, *, needs_insync: bool) -> DataFrame:
    """(topic, partition, since, until): no leader, or too few in sync; `until` null: to the end."""
    told = states(trace)
    poor = F.col("leader") < 0
    if needs_insync:
        told = told.join(F.broadcast(trace.topics.select("topic", "min_insync")), on="topic")
        poor |= F.size("isr") < F.col("min_insync")
    return told.where(poor).selectExpr(*_LOG, "at_micros as since", "until_micros as until")


def _cut_off(trace: Trace, found: DataFrame) -> DataFrame:
    """(topic, partition, since, until): clients stood still, or had no way to some broker."""
    cuts = trace["faults"].where("fault = 'cut clients' or target like 'client:%'")
    return (
        found.select(*_LOG)
        .distinct()
        .crossJoin(
            F.broadcast(
                cuts.select(
                    F.col("injected_micros").alias("since"), F.col("healed_micros").alias("until")
                )
            )
        )
    )


def _summary(rows: list[dict[str, Any]]) -> str:
    """Such as `4 outages, the longest 6.4 s on orders-0; 1,210 waited`."""
    longest = max(rows, key=lambda row: row["seconds"])
    return (
        f"{len(rows)} outages, the longest {longest['seconds']:.1f} s on "
        f"{longest['topic']}-{longest['partition']}; "
        f"{sum(row['records'] for row in rows):,} waited"
    )
