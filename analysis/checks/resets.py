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
        _members(trace),
    )


def unjustified_reset(trace: Trace) -> CheckOutcome:
    """F7: reset although the position lay within the log and on its surviving branch.

    This is KAFKA-19902's symptom. The log's end is that of the leader's newest sample before the
    reset, in the epoch that was led then. Undecided without such a sample, where only a later
    sample (or the end of the run) reaches the position, and where the position had no epoch, nor
    had the group committed that offset with one.
    """
    within = (
        _with_log_ends(_with_committed_epochs(_resets(trace), trace), trace)
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
        _members(trace),
    )


def truncation_undetected(trace: Trace) -> CheckOutcome:
    """F2: read records that a truncation then removed, went on in a later epoch, and never knew.

    What lies below the log start was deleted, not truncated, as far as anybody can tell. A value
    that came corrupted is in no log, and tells nothing: `corrupted_record` does.
    """
    starts = trace.log_bounds.select(*_LOG, "log_start")
    gone = (
        trace["polls"]
        .where("is_intact")
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


def _with_committed_epochs(resets: DataFrame, trace: Trace) -> DataFrame:
    """Let from_epoch be that of the group's commit at from_offset where the client kept none."""
    key = (*PARTITION, "member", "at_micros", "from_offset")
    stored = (
        trace["committed_offsets"]
        .where("not is_tombstone and committed_epoch >= 0")
        .select(
            *PARTITION, F.col("offset").alias("from_offset"), "committed_epoch", "committed_micros"
        )
    )
    before = (
        resets.select(*key)
        .distinct()
        .join(stored, on=[*PARTITION, "from_offset"], how="inner")
        .where("committed_micros <= at_micros")
        .groupBy(*key)
        .agg(F.max_by("committed_epoch", "committed_micros").alias("known_epoch"))
    )
    epoch = F.when(F.col("from_epoch") < 0, F.col("known_epoch")).otherwise(F.col("from_epoch"))
    return (
        resets.join(before, on=list(key), how="left")
        .withColumn("from_epoch", F.coalesce(epoch, "from_epoch"))
        .drop("known_epoch")
    )


def _with_log_ends(resets: DataFrame, trace: Trace) -> DataFrame:
    """Add end_before and end_after: the log's end in the leader's samples around each reset.

    A sample before the reset counts only if no newer leader came between: it may have cut the log.
    """
    told = (
        trace["samples"]
        .where("log_end_offset >= 0 and broker = leader")
        .select(
            *_LOG,
            F.col("leader_epoch").alias("sampled_epoch"),
            "log_end_offset",
            F.col("at_micros").alias("sampled_micros"),
        )
    )
    led = trace["leaderships"].select(
        *_LOG, F.col("leader_epoch").alias("epoch"), F.col("at_micros").alias("led_micros")
    )
    key = (*PARTITION, "member", "at_micros")
    moments = resets.select(*key).distinct()
    led_then = (
        moments.join(F.broadcast(led), on=list(_LOG), how="inner")
        .where("led_micros <= at_micros")
        .groupBy(*key)
        .agg(F.max("epoch").alias("led_epoch"))
    )
    is_before = F.col("sampled_micros") <= F.col("at_micros")
    is_of_that_leader = F.coalesce(F.col("sampled_epoch") >= F.col("led_epoch"), F.lit(1) == 1)
    sampled = (
        moments.join(led_then, on=list(key), how="left")
        .join(told, on=list(_LOG), how="inner")
        .groupBy(*key)
        .agg(
            F.max_by(
                "log_end_offset", F.when(is_before & is_of_that_leader, F.col("sampled_micros"))
            ).alias("end_before"),
            F.min_by("log_end_offset", F.when(~is_before, F.col("sampled_micros"))).alias(
                "end_after"
            ),
        )
    )
    return resets.join(sampled, on=list(key), how="left")


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
