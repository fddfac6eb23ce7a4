"""Where records are, and from when to when."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count_records
from analysis.checks.cases import Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.assignments import ownerships
from analysis.facts.deliveries import acknowledged_sends, deliveries
from analysis.facts.positions import PARTITION, positions
from analysis.facts.replicas import ASKED
from analysis.facts.sessions import runs
from analysis.facts.topics import created_again, created_once
from analysis.facts.trace import Trace
from contract.outcomes import Isolation
from contract.tables import MICROS_PER_MS, MICROS_PER_SECOND

_LOG = ("topic", "partition")
_BATCH = ("producer_id", "producer_epoch")

_NOT_READ = "{records} acknowledged records are in the log; group {group} has not read them yet"
_LATE = Cases(
    permitted("never began", _NOT_READ, when="position is null"),
    permitted("yet to come", _NOT_READ),
    evidence="records, position, log_end",
)


def unseen_record(trace: Trace) -> CheckOutcome:
    """A record is acknowledged and in the surviving log, and a group has yet to reach it.

    The record is late, not lost. `stuck_consumer` decides whether the group should have come
    further.

    Permitted: always.
    Evaluates: every acknowledged record, for each group of the plan that reads its topic; records
        of transactions only for groups that read uncommitted values.
    Source: no configuration bounds how far a group lags.
    """
    readers = trace.readers.select("group", "topic", "isolation")
    at = positions(trace).select(*PARTITION, "position")
    behind = (
        readers.join(trace.log_bounds, on="topic", how="inner")
        .join(at, on=list(PARTITION), how="left")
        .withColumn("_from", F.greatest(F.coalesce("position", "log_start"), "log_start"))
        .where("_from < log_end")
        .select(*PARTITION, "isolation", "position", "_from", "log_end")
    )
    is_owed = F.col("transaction").isNull() | (F.col("isolation") != str(Isolation.READ_COMMITTED))
    late = (
        slices.acknowledged(trace)
        .join(behind, on=list(_LOG), how="inner")
        .where("offset >= _from and last_offset < log_end")
        .where(is_owed)
        .join(slices.surviving(trace), on=[*_LOG, "offset", "value"], how="left_semi")
        .groupBy(*PARTITION, "position", "log_end")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("answered_micros").alias("at"),
        )
    )
    owed = acknowledged_sends(trace).join(readers, on="topic", how="inner")
    return CheckOutcome(findings(late, _LATE), count_records(owed.where(is_owed)))


_APPENDED = "value {value} was appended {appends} times"
_APPENDED_AGAIN = Cases(
    violation(
        "without a producer id, though idempotent",
        _APPENDED,
        when="coalesce(is_idempotent, false) and producer_id < 0",
    ),
    permitted("without idempotence", _APPENDED, when="producer_id < 0"),
    violation("in one producer epoch", _APPENDED, when="_ids = 1 and not _unreported"),
    undecided("under another producer epoch", _APPENDED),
    evidence="value, appends, producer_id",
)


def duplicate_append(trace: Trace) -> CheckOutcome:
    """One value is at two or more offsets of the surviving log.

    Each value is sent once, so a retry of its producer was appended again. A violation if both
    appends have one producer id and producer epoch, or if the producer is known as idempotent and
    its batches have no producer id.

    Permitted: a batch has no producer id, and the producer is not known as idempotent.
    Undecided: producer id or producer epoch changed in between (KIP-360), or no batch has the
        offset.
    Evaluates: every value of the surviving log.
    Source: KIP-98: the sequence numbers of an idempotent producer prevent it.
    """
    surviving = slices.surviving(trace)
    repeated = (
        surviving.groupBy(*_LOG, "value")
        .agg(F.count_distinct("offset").alias("appends"), F.collect_set("offset").alias("_at"))
        .where("appends > 1")
    )
    found = trace.engine.materialized(
        repeated.select(*_LOG, "value", "appends", F.explode("_at").alias("offset"))
    )
    batches = trace["replica_batches"].where("not is_control")
    ids = (
        found.join(batches, on=list(_LOG), how="left")
        .where("base_offset is null or offset between base_offset and last_offset")
        .select(*_LOG, "value", "offset", "appends", *_BATCH)
        .distinct()
    )
    settings = (
        slices.sends(trace)
        .groupBy(*_LOG, "value")
        .agg(F.max("is_idempotent").alias("is_idempotent"))
    )
    reported = (
        found.join(ids, on=[*_LOG, "value", "offset", "appends"], how="left")
        .groupBy(*_LOG, "value", "appends")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.min("producer_id").alias("producer_id"),
            F.count_distinct(*_BATCH).alias("_ids"),
            F.max(F.col("producer_id").isNull()).alias("_unreported"),
        )
        .join(settings, on=[*_LOG, "value"], how="left")
    )
    return CheckOutcome(findings(reported, _APPENDED_AGAIN), count_records(surviving))


_RECEIVED = (
    "{member} received {records} records from offset {first_offset} on, below log start {log_start}"
)
_RACK = "client.rack"
_LAG_MICROS = 30 * MICROS_PER_SECOND
_BELOW_LOG_START = Cases(
    violation("fetched below the log start", _RECEIVED, when="is_after"),
    permitted("may have been fetched before", _RECEIVED),
    evidence="member, records, log_start, passed_micros",
    offset_first="first_offset",
    at="at_micros",
)


def expired_read(trace: Trace) -> CheckOutcome:
    """A member was delivered a record below the log start.

    A log start counts up to the log start of the end: a new leader may have deleted less, and serve
    what it has.

    Permitted: the member came to own the partition before the log start passed the record: it may
        have fetched the record before. With a `client.rack` it may have fetched it from a follower,
        which hears of the log start later, up to 30 s (`replica.lag.time.max.ms`).
    Evaluates: deliveries of partitions whose leader reported its log start to the observer.
    Source: `ReplicaManager.fetch`: an offset below the log start is answered with
        OFFSET_OUT_OF_RANGE; KIP-392.
    """
    ends = trace.log_bounds.select(*_LOG, "log_start")
    reported = (
        trace["samples"]
        .where("broker = leader and log_start_offset >= 0")
        .join(ends, on=list(_LOG), how="left")
        .groupBy(*_LOG, F.least("log_start_offset", "log_start").alias("start"))
        .agg((F.min("at_micros") + trace.clock_micros).alias("at_micros"))
        .join(created_again(trace), on=list(_LOG), how="left_anti")
    )
    first = trace.engine.materialized(
        reported.groupBy(*_LOG).agg(F.min("at_micros").alias("_reported"))
    )
    given = runs(trace).join(first, on=list(_LOG), how="inner")
    of_followers = [one.group for one in trace.plan.groups if _RACK in one.settings]
    below = _below(given, reported)
    found = (
        below.join(ownerships(trace), on=["group", "member", *_LOG], how="left")
        .groupBy(*below.columns)
        .agg(F.expr("max(owned_micros) filter (where owned_micros <= at_micros)").alias("_owned"))
        .withColumn(
            "_late", F.when(F.col("group").isin(of_followers), _LAG_MICROS).otherwise(F.lit(0))
        )
        .withColumn("is_after", F.expr("coalesce(_owned > passed_micros + _late, false)"))
    )
    return CheckOutcome(
        findings(found, _BELOW_LOG_START),
        given.agg(
            F.coalesce(F.sum(F.expr("last_offset - first_offset + 1")), F.lit(0)).alias("evaluated")
        ),
    )


def _below(given: Frame, reported: Frame) -> Frame:
    """Runs that begin below the largest log start reported before, and when that was."""
    columns = ("group", "member", *_LOG, "first_offset", "last_offset", "at_micros")
    by_time = Window.partitionBy(*_LOG).orderBy("at_micros")
    steps = reported.select(*_LOG, "at_micros", "start")
    timeline = given.select(*columns).unionByName(steps, allowMissingColumns=True)
    raised = (
        timeline.withColumn("log_start", F.max("start").over(by_time))
        .where("start is null and first_offset < log_start")
        .select(*columns, "log_start")
    )
    return (
        raised.join(steps.withColumnRenamed("at_micros", "_step"), on=list(_LOG), how="inner")
        .where("start > first_offset")
        .groupBy(*columns, "log_start")
        .agg(F.min("_step").alias("passed_micros"))
        .withColumn("records", F.expr("least(last_offset + 1, log_start) - first_offset"))
    )


_ABOVE = (
    "{member} received records up to offset {offset_last} of epoch {leader_epoch}; the leader of"
    " that epoch reported high watermark {high_watermark} {later_ms:.0f} ms later"
)
_UNCOMMITTED = Cases(
    violation("above the high watermark", _ABOVE),
    evidence="member, leader_epoch, high_watermark, records, later_ms, may_be_of_follower",
    at="at_micros",
)


def uncommitted_read(trace: Trace) -> CheckOutcome:
    """A member was delivered a record that lay above the high watermark.

    The leader of the record's epoch was asked later, by more than the clock bound, and reported a
    high watermark at or below the record. Within an epoch it does not go back, and no follower
    knows a higher one. Without such a report it is not known where the high watermark was.

    Evaluates: deliveries of partitions that were created once, in epochs whose leader reported its
        high watermark.
    Source: Kafka's documentation, Replication: only committed records are given to consumers;
        KIP-392: a follower serves records up to its own high watermark.
    """
    of_epoch = (*_LOG, "leader_epoch")
    reported = (
        trace["samples"]
        .where("broker = leader and log_end_offset >= 0")
        .join(created_once(trace), on=list(_LOG), how="left_semi")
        .selectExpr(
            *of_epoch,
            f"{ASKED} - {trace.clock_micros} as moment",
            "log_end_offset as high_watermark",
        )
    )
    given = (
        deliveries(trace)
        .join(reported.select(*of_epoch).distinct(), on=list(of_epoch), how="left_semi")
        .withColumn("moment", F.col("at_micros"))
    )
    later = (
        Window.partitionBy(*of_epoch)
        .orderBy(F.desc("moment"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    report = F.expr("if(high_watermark is null, null, struct(high_watermark, moment))")
    of_followers = [one.group for one in trace.plan.groups if _RACK in one.settings]
    found = (
        given.unionByName(reported, allowMissingColumns=True)
        .withColumn("_report", F.min(report).over(later))
        .where("first_offset is not null and last_offset >= _report.high_watermark")
        .selectExpr(
            "group",
            *of_epoch,
            "member",
            "at_micros",
            "_report.high_watermark as high_watermark",
            "greatest(first_offset, _report.high_watermark) as offset_first",
            "last_offset as offset_last",
            f"(_report.moment + {trace.clock_micros} - at_micros) / {MICROS_PER_MS} as later_ms",
        )
        .withColumn("records", F.expr("offset_last - offset_first + 1"))
        .withColumn("may_be_of_follower", F.col("group").isin(of_followers))
    )
    return CheckOutcome(findings(found, _UNCOMMITTED), count_records(given))


CHECKS = (
    CheckDefinition("A11", uncommitted_read, needs=("polls", "samples"), cases=_UNCOMMITTED),
    CheckDefinition("A2", unseen_record, needs=("sends", "log_starts"), cases=_LATE),
    CheckDefinition("A3", duplicate_append, needs=("replica_records",), cases=_APPENDED_AGAIN),
    CheckDefinition("A9", expired_read, needs=("polls", "samples"), cases=_BELOW_LOG_START),
)
