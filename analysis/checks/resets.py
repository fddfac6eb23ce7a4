"""Truncations and resets: noticed, missed, or for no reason (taxonomy F)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.checks.base import CheckOutcome, count, findings
from analysis.digests import outside
from analysis.load import Trace
from analysis.positions import PARTITION
from analysis.resets import (
    noticed,
    resets_of,
    with_committed_epochs,
    with_history,
    with_log_ends,
    with_skips,
)
from analysis.stretches import given
from harness.contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")


def reset(trace: Trace) -> CheckOutcome:
    """F5, F6, F9: every reset with its cause, policy and magnitude; measured, always permitted.

    A group that starts where it never committed resets nothing and is left out. The magnitude is
    told in records, and in bytes and seconds of history as far as a replica still has its batches;
    `skipped` counts the records that a reset jumped over and the group never got.
    """
    found = with_skips(with_history(resets_of(trace), trace), trace).withColumn(
        "records", F.col("from_offset") - F.col("to_offset")
    )
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
                "bytes",
                "seconds",
                "skipped",
                "log_line",
            ),
            kind=F.col("cause"),
            verdict=F.lit("permitted"),
            offset_first=F.col("from_offset"),
            offset_last=F.col("to_offset"),
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
        members_judged(trace),
    )


def unjustified_reset(trace: Trace) -> CheckOutcome:
    """F7: reset although the position lay within the log and on its surviving branch.

    This is KAFKA-19902's symptom. The log's end is that of the leader's newest sample before the
    reset, in the epoch that was led then. Undecided without such a sample, where only a later
    sample (or the end of the run) reaches the position, and where the position had no epoch, nor
    had the group committed that offset with one.
    """
    within = (
        with_log_ends(with_committed_epochs(resets_of(trace), trace), trace)
        .join(trace.log_bounds, on=list(_LOG), how="inner")
        .withColumn("end_after", F.coalesce("end_after", "log_end"))
        .where("from_offset >= log_start and from_offset <= greatest(end_before, end_after)")
    )
    judged = within.join(trace.epoch_starts, on=list(_LOG), how="left").withColumn(
        "on_branch", _is_on_branch()
    )
    found = judged.where(F.col("on_branch") | (F.col("from_epoch") < 0))
    has_no_epoch = F.col("from_epoch") < 0
    has_no_sample = F.col("end_before").isNull()
    is_covered = F.col("from_offset") <= F.col("end_before")
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "policy",
                "from_offset",
                "from_epoch",
                "to_offset",
                "log_start",
                "end_before",
                "end_after",
                "log_line",
            ),
            kind=F.col("cause"),
            verdict=F.when(is_covered & ~has_no_epoch, "violation").otherwise("undecided"),
            offset_first=F.col("from_offset"),
            offset_last=F.col("to_offset"),
            at=F.col("at_micros"),
            cause=F.when(has_no_epoch, "within the log as it was, but without an epoch to judge by")
            .when(has_no_sample, "no sample of its leader before the reset tells the log's end")
            .when(
                is_covered, "the position lay on the surviving branch, and was reset all the same"
            )
            .otherwise("beyond the log's end in the last sample before; a later one covers it"),
        ),
        members_judged(trace),
    )


def truncation_undetected(trace: Trace) -> CheckOutcome:
    """F2: read records that a truncation then removed, went on in a later epoch, and never knew.

    What lies below the log start was deleted, not truncated, as far as anybody can tell. A value
    that came corrupted is in no log, and tells nothing: `corrupted_record` does.
    """
    starts = trace.log_bounds.select(*_LOG, "log_start")
    polls = closeup.polls(trace).where("is_intact")
    gone = trace.materialized(
        outside(polls, closeup.surviving(trace), *_LOG, "value")
        .join(F.broadcast(starts), on=list(_LOG), how="left")
        .where("log_start is null or offset >= log_start")
        .groupBy(*PARTITION)
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("offset").alias("offset_last"),
            F.count_distinct("value").alias("records"),
            F.max("leader_epoch").alias("gone_epoch"),
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("at"),
        ),
        is_close=True,
    )
    reached = given(trace).groupBy(*PARTITION).agg(F.max("leader_epoch").alias("reached_epoch"))
    silent = (
        gone.join(reached, on=list(PARTITION), how="inner")
        .where("reached_epoch > gone_epoch")
        .join(F.broadcast(trace.groups), on="group", how="left")
    )
    found = silent.join(noticed(trace, silent), on=list(PARTITION), how="left_anti")
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "gone_epoch", "reached_epoch", "commit_epoch"),
            kind=F.lit("silent"),
            verdict=F.when(F.col("commit_epoch") == str(CommitEpoch.NONE), "permitted").otherwise(
                "violation"
            ),
            cause=F.format_string(
                "%s records of epoch %s were read, then truncated; the group went on in epoch %s",
                "records",
                "gone_epoch",
                "reached_epoch",
            ),
        ),
        trace.rows["polls"],
    )


def members_judged(trace: Trace) -> DataFrame:
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
