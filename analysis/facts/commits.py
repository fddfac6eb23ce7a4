"""The stored commits, each with what can be known of its offset: what several checks judge.

What was committed is taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.lookups import given_at, logged_at
from analysis.facts.offsets import offsets_of
from analysis.facts.positions import PARTITION
from analysis.facts.trace import Trace, fact
from contract.outcomes import CommitEpoch
from contract.table_columns import boolean, int32, int64, string

COMMIT = (*PARTITION, "offsets_partition", "offsets_offset")
OF_COMMIT = of_table("committed_offsets", *COMMIT)
OF_RECORDS = (str(CommitEpoch.RECORD), str(CommitEpoch.APPLICATION))
"""Styles by which the epoch of the record before is committed."""
COMMIT_CLOCK_MICROS = 1000
"""A commit record's timestamp is in milliseconds."""


@fact(
    *OF_COMMIT,
    int64("offset"),
    int32("committed_epoch"),
    int64("committed_micros"),
    boolean("is_transactional"),
    int64(
        "previous_offset",
        "of the commit before of that group and partition, if both came by a transaction or"
        " neither; null after a tombstone",
    ),
    int32("previous_epoch"),
    int64("previous_micros"),
    int32(
        "polled_epoch",
        "of the record before (offset - 1), as the group was delivered it last before the commit",
    ),
    int64("polled_at"),
    int32(
        "logged_epoch",
        "of the record before, as the surviving log has it, control batches included",
    ),
    int32("record_epoch", "polled_epoch, or else logged_epoch"),
    boolean(
        "is_after_control",
        "whether the record before is a control record, which is never delivered",
    ),
    int32("led_epoch", "the partition's leader epoch when the commit was stored"),
    string("commit_epoch", "the group's way to choose an epoch, by the plan"),
    boolean(
        "could_know",
        "whether the group had an epoch to commit: it polled the record before since it was"
        " opened last, had committed that offset with an epoch just before, or gets its epochs"
        " from elsewhere than its records",
    ),
)
def stored_commits(trace: Trace) -> Frame:
    """Commits that survived, about topics as they are at the end; no tombstones."""
    in_order = Window.partitionBy(*PARTITION, F.expr("coalesce(producer_id >= 0, false)")).orderBy(
        "offsets_offset", "committed_micros"
    )
    could_know = (
        (F.col("polled_at") >= F.coalesce("opened_at", "polled_at"))
        | ~F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD))).isin(*OF_RECORDS)
        | ((F.col("previous_offset") == F.col("offset")) & (F.col("previous_epoch") >= 0))
    )
    commits = (
        offsets_of(trace)
        .withColumn("previous_offset", F.lag("offset").over(in_order))
        .withColumn("previous_epoch", F.lag("committed_epoch").over(in_order))
        .withColumn("previous_micros", F.lag("committed_micros").over(in_order))
        .where("not is_tombstone")
        .withColumn("before", F.col("offset") - 1)
        .withColumn("until", F.col("committed_micros") + COMMIT_CLOCK_MICROS)
    )
    points = commits.select(*COMMIT, "until", F.col("before").alias("offset"))
    as_polled = (
        given_at(points, trace)
        .where("at_micros < until")
        .groupBy(*COMMIT)
        .agg(
            F.max_by("leader_epoch", "at_micros").alias("polled_epoch"),
            F.max("at_micros").alias("polled_at"),
        )
    )
    openings = (
        trace["group_events"]
        .where("change = 'opened'")
        .select("group", F.col("at_micros").alias("opened_micros"))
    )
    opened_then = (
        commits.join(openings, on="group", how="inner")
        .where("opened_micros <= committed_micros")
        .groupBy(*COMMIT)
        .agg(F.max("opened_micros").alias("opened_at"))
    )
    logged = (
        logged_at(points, trace)
        .withColumn("is_control", F.expr("false"))
        .union(_control_records(trace))
        .groupBy("topic", "partition", F.col("offset").alias("before"))
        .agg(
            F.max("leader_epoch").alias("logged_epoch"),
            F.max("is_control").alias("is_after_control"),
        )
    )
    led = trace["leaderships"].select("topic", "partition", "leader_epoch", "at_micros")
    led_then = (
        commits.join(led, on=["topic", "partition"], how="inner")
        .where("at_micros < until")
        .groupBy(*COMMIT)
        .agg(F.max("leader_epoch").alias("led_epoch"))
    )
    return (
        commits.join(as_polled, on=list(COMMIT), how="left")
        .join(logged, on=["topic", "partition", "before"], how="left")
        .join(led_then, on=list(COMMIT), how="left")
        .join(opened_then, on=list(COMMIT), how="left")
        .join(trace.groups.select("group", "commit_epoch"), on="group", how="left")
        .withColumn("record_epoch", F.coalesce("polled_epoch", "logged_epoch"))
        .withColumn("could_know", F.coalesce(could_know, F.lit(0) == 1))
        .select(
            *COMMIT,
            "offset",
            "committed_epoch",
            "committed_micros",
            F.expr("coalesce(producer_id >= 0, false)").alias("is_transactional"),
            "previous_offset",
            "previous_epoch",
            "previous_micros",
            "polled_epoch",
            "polled_at",
            "logged_epoch",
            "record_epoch",
            F.coalesce("is_after_control", F.expr("false")).alias("is_after_control"),
            "led_epoch",
            "commit_epoch",
            "could_know",
        )
    )


def _control_records(trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): of surviving replicas; a batch holds one."""
    return (
        trace["replica_batches"]
        .where("is_control")
        .join(trace.survivors, on=["topic", "partition", "broker"], how="left_semi")
        .selectExpr(
            "topic", "partition", "base_offset as offset", "leader_epoch", "true as is_control"
        )
    )
