"""Who had to wait (taxonomy H): owed is service only while the cluster's own state admits it."""

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.checks.base import CheckOutcome, count, count_records
from analysis.load import IS_UNACKNOWLEDGED, Trace
from analysis.outages import OUTAGE_SECONDS, outages, unavailable
from analysis.stretches import given, one_record
from harness.contract.outcomes import Isolation
from harness.contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_MEMBER = ("group", "member", *_LOG)
_REBALANCING = (
    "RebalanceInProgress",
    "CommitFailed",
    "UnknownMemberId",
    "IllegalGeneration",
    "FencedInstanceId",
    "FencedMemberEpoch",
    "StaleMemberEpoch",
)
"""Errors that tell of the group, not of who should have served it."""


def produce_unavailable(trace: Trace) -> CheckOutcome:
    """A partition did not answer a producer, and for how long it could have.

    Waits of single values that overlap are one outage. Not counted in is the time in which, by the
    metadata log, the partition had no leader or fewer replicas in sync than `min.insync.replicas`,
    or in which clients were cut off. What remains is permitted up to OWED_SECONDS.
    """
    end = F.lit(trace.run.ended_micros or trace.run.started_micros)
    sends = closeup.sends(trace).where("intended_micros is not null")
    waits = sends.select(
        *_LOG,
        F.col("intended_micros").alias("at"),
        F.coalesce("answered_micros", end).alias("ended"),
        F.col("answered_micros").isNull().cast("int").alias("unanswered"),
    )
    long = F.col("ended") - F.col("at") >= OUTAGE_SECONDS * MICROS_PER_SECOND
    found = outages(trace.materialized(waits.where(long), is_close=True), *_LOG)
    unanswered = sends.where(IS_UNACKNOWLEDGED).select(one_record())
    judged = closeup.in_brief(trace).where("intended_first is not null").select("records")
    return unavailable(
        trace, found, *_LOG, judged=count_records(judged.union(unanswered)), needs_insync=True
    )


def fetch_unavailable(trace: Trace) -> CheckOutcome:
    """A group got nothing from a partition though its next record was acknowledged.

    That is a pause between two polls of a member, from when the second one's first record was
    acknowledged, unless the member was told to stop in between, or had come to the end. Owed as in
    produce_unavailable, but by any leader. Groups that read committed values are not judged: they
    wait for transactions.
    """
    judged = [g.group for g in trace.plan.groups if g.isolation != Isolation.READ_COMMITTED]
    polls = (
        given(trace)
        .where(F.col("group").isin(judged))
        .groupBy(*_MEMBER, "seq")
        .agg(F.min("at_micros").alias("ended"), F.min("first_offset").alias("offset"))
    )
    order = Window.partitionBy(*_MEMBER).orderBy("seq")
    gaps = (
        polls.withColumn("since", F.lag("ended").over(order))
        .withColumn("seq_before", F.lag("seq").over(order))
        .where("since is not null")
        .select(*_MEMBER, "offset", "since", "ended", "seq_before", "seq")
    )
    long = trace.materialized(gaps.where(f"ended - since >= {OUTAGE_SECONDS * MICROS_PER_SECOND}"))
    stops = (
        trace["group_events"]
        .where("change in ('caught_up', 'stalled', 'closed')")
        .selectExpr("member", "seq as stopped")
    )
    halted = (
        long.join(F.broadcast(stops), on="member", how="inner")
        .where("stopped between seq_before and seq")
        .select("member", "seq")
        .distinct()
    )
    acknowledged = closeup.acknowledged(trace)
    waits = trace.materialized(
        long.join(F.broadcast(halted), on=["member", "seq"], how="left_anti")
        .join(acknowledged.select(*_LOG, "offset", "answered_micros"), on=[*_LOG, "offset"])
        .select(
            "group",
            *_LOG,
            F.greatest("since", "answered_micros").alias("at"),
            "ended",
            F.lit(0).alias("unanswered"),
        ),
        is_close=True,
    )
    found = outages(waits, "group", *_LOG)
    return unavailable(trace, found, "group", *_LOG, judged=count(gaps), needs_insync=False)


def commit_unavailable(trace: Trace) -> CheckOutcome:
    """A group's commit waited for its coordinator, or failed for another reason than the group's.

    Owed as in produce_unavailable, by the leader of the group's partition of `__consumer_offsets`,
    which is known of groups that ever committed. Commits of older runs do not tell when they began:
    they are not judged.
    """
    coordinators = trace["committed_offsets"].select("group", "offsets_partition").distinct()
    commits = trace["commits"].where("began_micros is not null")
    waits = (
        commits.where(~F.coalesce("error", F.lit("")).rlike("|".join(_REBALANCING)))
        .join(F.broadcast(coordinators), on="group", how="left")
        .select(
            "group",
            F.lit("__consumer_offsets").alias("topic"),
            F.col("offsets_partition").alias("partition"),
            F.col("began_micros").alias("at"),
            F.col("committed_micros").alias("ended"),
            (F.col("outcome") != "ok").cast("int").alias("unanswered"),
        )
    )
    found = outages(waits, "group", *_LOG)
    return unavailable(trace, found, "group", *_LOG, judged=count(commits), needs_insync=False)
