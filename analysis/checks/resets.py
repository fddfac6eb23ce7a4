"""Truncations and resets: noticed, missed, or for no reason (taxonomy F)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.load import Trace
from analysis.progress import PARTITION
from harness.contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")
_LOG_CLOCK_MICROS = 1000
"""A line of a client's log has its time cut to milliseconds."""


def reset(trace: Trace) -> CheckOutcome:
    """F5, F6: every reset with its cause, policy and magnitude; measured, always permitted.

    A group that starts where it never committed resets nothing and is left out.
    """
    found = _resets(trace).withColumn("records", F.col("from_offset") - F.col("to_offset"))
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "policy",
                "from_offset",
                "from_epoch",
                "to_offset",
                "to_epoch",
                "records",
                "log_line",
            ),
            kind=F.col("cause"),
            verdict=F.lit("permitted"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            offset_first=F.col("from_offset"),
            offset_last=F.col("to_offset"),
            group=F.col("group"),
            at=F.col("at_micros"),
            cause=F.when(
                F.col("to_offset").isNull(),
                F.format_string("%s: raised to the application", "cause"),
            ).otherwise(
                F.format_string(
                    "%s: from %s to %s (policy %s)", "cause", "from_offset", "to_offset", "policy"
                )
            ),
        ),
        _members(trace),
    )


def unjustified_reset(trace: Trace) -> CheckOutcome:
    """F7: reset although the position lay within the log and on its surviving branch.

    This is KAFKA-19902's symptom. Undecided where the position had no epoch to judge by.
    """
    within = (
        _resets(trace)
        .join(trace.log_bounds, on=list(_LOG), how="inner")
        .where("from_offset between log_start and log_end")
    )
    judged = within.join(trace.epoch_starts, on=list(_LOG), how="left").withColumn(
        "on_branch", _is_on_branch()
    )
    found = judged.where(F.col("on_branch") | (F.col("from_epoch") < 0))
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "policy",
                "from_offset",
                "from_epoch",
                "to_offset",
                "log_start",
                "log_end",
                "log_line",
            ),
            kind=F.col("cause"),
            verdict=F.when(F.col("from_epoch") < 0, "undecided").otherwise("violation"),
            topic=F.col("topic"),
            partition=F.col("partition"),
            offset_first=F.col("from_offset"),
            offset_last=F.col("to_offset"),
            group=F.col("group"),
            at=F.col("at_micros"),
            cause=F.when(
                F.col("from_epoch") < 0,
                "within the log as it ended, but without an epoch to judge by",
            ).otherwise("the position lay on the surviving branch, and was reset all the same"),
        ),
        _members(trace),
    )


def truncation_undetected(trace: Trace) -> CheckOutcome:
    """F2: read records that a truncation then removed, went on in a later epoch, and never knew.

    What lies below the log start was deleted, not truncated, as far as anybody can tell.
    """
    starts = trace.log_bounds.select(*_LOG, "log_start")
    gone = (
        trace["polls"]
        .join(F.broadcast(starts), on=list(_LOG), how="left")
        .where("log_start is null or offset >= log_start")
        .join(trace.surviving, on=[*_LOG, "value"], how="left_anti")
        .groupBy(*PARTITION)
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.count_distinct("value").alias("records"),
            F.max("leader_epoch").alias("gone_epoch"),
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("at"),
        )
    )
    reached = trace["polls"].groupBy(*PARTITION).agg(F.max("leader_epoch").alias("reached_epoch"))
    silent = (
        gone.join(reached, on=list(PARTITION), how="inner")
        .where("reached_epoch > gone_epoch")
        .join(F.broadcast(trace.groups), on="group", how="left")
    )
    found = silent.join(_noticed(trace, silent), on=list(PARTITION), how="left_anti")
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "gone_epoch", "reached_epoch", "commit_epoch"),
            kind=F.lit("silent"),
            verdict=F.when(F.col("commit_epoch") == str(CommitEpoch.NONE), "permitted").otherwise(
                "violation"
            ),
            topic=F.col("topic"),
            partition=F.col("partition"),
            offset_first=F.col("offset_first"),
            offset_last=F.col("offset_last"),
            group=F.col("group"),
            at=F.col("at"),
            cause=F.format_string(
                "%s records of epoch %s were read, then truncated; the group went on in epoch %s",
                "records",
                "gone_epoch",
                "reached_epoch",
            ),
        ),
        trace.rows["polls"],
    )


def _noticed(trace: Trace, gone: DataFrame) -> DataFrame:
    """(group, topic, partition) of those whose client told of the loss.

    Args:
        trace: the run.
        gone: with group, topic, partition, first_micros: when the first lost record was polled.

    Only a reset of that very partition counts, or an exception that names it or no partition at
    all, and only one since first_micros.
    """
    since = gone.select(*PARTITION, "first_micros")
    is_since = F.col("at_micros") + _LOG_CLOCK_MICROS > F.col("first_micros")
    reset_since = (
        trace["resets"]
        .where("cause in ('truncation', 'out_of_range')")
        .select(*PARTITION, "at_micros")
        .join(since, on=list(PARTITION), how="inner")
        .where(is_since)
    )
    raised = (
        trace["group_events"]
        .where("change = 'failed'")
        .select(
            "group",
            "at_micros",
            "message",
            F.col("topic").alias("named_topic"),
            F.col("partition").alias("named_partition"),
        )
    )
    is_named = (F.col("named_topic") == F.col("topic")) & (
        F.col("named_partition") == F.col("partition")
    )
    # An exception about several partitions has one of them in its columns, all in its message.
    name = F.concat(F.lit(r"\b\Q"), "topic", F.lit("-"), "partition", F.lit(r"\E\b"))
    is_in_message = F.coalesce(F.rlike(F.col("message"), name), F.lit(0).cast("boolean"))
    names_it = (F.coalesce("named_topic", F.lit("")) == "") | is_named | is_in_message
    raised_since = raised.join(since, on="group", how="inner").where(is_since & names_it)
    return reset_since.select(*PARTITION).union(raised_since.select(*PARTITION))


def _resets(trace: Trace) -> DataFrame:
    """Resets, without the first start of a group that had committed nothing."""
    committed = (
        trace["committed_offsets"]
        .where("not is_tombstone")
        .groupBy(*PARTITION)
        .agg(F.min("committed_micros").alias("first_commit_micros"))
    )
    is_first_start = (F.col("cause") == "no_commit") & (
        F.col("first_commit_micros").isNull() | (F.col("first_commit_micros") > F.col("at_micros"))
    )
    return (
        trace["resets"]
        .join(committed, on=list(PARTITION), how="left")
        .where(~is_first_start)
        .drop("first_commit_micros")
    )


def _members(trace: Trace) -> DataFrame:
    """Every opened member was judged: it could have reset."""
    return count(trace["group_events"].where("change = 'opened'"))


def _is_on_branch() -> Column:
    """The position's epoch is on the branch, and no later epoch starts below the position."""
    has_epoch = F.exists("epochs", lambda epoch: epoch["leader_epoch"] == F.col("from_epoch"))
    overwritten = F.exists(
        "epochs",
        lambda epoch: (
            (epoch["leader_epoch"] > F.col("from_epoch"))
            & (epoch["start_offset"] < F.col("from_offset"))
        ),
    )
    return F.coalesce(has_epoch & ~overwritten, F.lit(False))
