"""Committed offsets against what was delivered and what the log holds.

The checks evaluate what the coordinator stored in `__consumer_offsets`. Commits of transactions are
left out where their order matters, since the transaction may have been aborted.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import (
    AT_COMMIT,
    PERMIT,
    Cases,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import COMMIT, COMMIT_CLOCK_MICROS
from analysis.facts.commits import stored_commits, with_manner
from analysis.facts.deliveries import client_resets
from analysis.facts.permits import with_permit_since
from analysis.facts.positions import PARTITION
from analysis.facts.slices import given_at, written_at
from analysis.facts.state import FOREVER, fork_then, timelines
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace
from contract.outcomes import Isolation
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")

_UNREAD = "record {offset - 1} (epoch {logged_epoch}) was never delivered to the group"
_REPLACED = (
    "record {offset - 1} was not delivered to the group; the log has another one there since, of"
    " epoch {replaced_by}"
)
_BEYOND_PROCESSED = Cases(
    violation(
        "of another topic",
        f"{_UNREAD}, but record {{offset - 1}} of the topic that had this name before",
        when="reset_cause is null and is_of_former",
    ),
    undecided(
        "delivering",
        "record {offset - 1} was delivered to the group {seconds:.1f} s after its client committed"
        " by itself",
        when="reset_cause is null and is_by_client and delivered_micros is not null",
    ),
    permitted(
        "truncated",
        f"{_REPLACED}; {PERMIT}",
        when="reset_cause is null and replaced_by is not null and permit is not null",
    ),
    undecided("truncated", _REPLACED, when="reset_cause is null and replaced_by is not null"),
    violation("unread", _UNREAD, when="reset_cause is null"),
    permitted("reset", "a reset ({reset_cause}) moved the position there"),
    evidence="committed_epoch, logged_epoch, previous_offset, reset_cause, permit",
    **AT_COMMIT,
)


def commit_beyond_processed(trace: Trace) -> CheckOutcome:
    """The record before the committed offset is in the log, and the group was never delivered it.

    A first commit at the position where the group started without a commit goes past nothing.
    Records of transactions are left out if the group reads committed values.

    Permitted: a reset had led to exactly that offset; or by an election since that permits the loss
        of the record before. It may have been a control record.
    Undecided: the group's client commits by itself, and the record was delivered later. Such a
        commit can be stored while the poll that delivers the record returns.
    Evaluates: every commit whose previous record is known, and is no control record.
    Source: `KafkaConsumer.commitSync`: the committed offset is that of the next record to be
        consumed.
    """
    known = stored_commits(trace).where(
        "coalesce(record_epoch, replaced_by) is not null and not is_after_control"
    )
    beyond = known.where(
        "polled_at is null and (previous_offset is null or previous_offset != offset)"
    )
    found = _with_reset_to(_readable(trace.engine.materialized(beyond), trace), trace).where(
        "not (previous_offset is null and reset_cause <=> 'no_commit')"
    )
    found = with_permit_since(
        _with_delivery(with_manner(found, trace), trace), trace, offset="offset - 1"
    )
    return CheckOutcome(findings(found, _BEYOND_PROCESSED), count(known))


def _with_delivery(commits: Frame, trace: Trace) -> Frame:
    """Add delivered_micros, when the group was delivered the record before, and the seconds since.

    Null if never; the commits are those that were stored before.
    """
    points = commits.selectExpr(*COMMIT, "committed_micros", "offset - 1 as offset")
    delivered = (
        given_at(points, trace)
        .where("at_micros > committed_micros")
        .groupBy(*COMMIT)
        .agg(F.min("at_micros").alias("delivered_micros"))
    )
    return commits.join(delivered, on=list(COMMIT), how="left").withColumn(
        "seconds", F.expr(f"(delivered_micros - committed_micros) / {MICROS_PER_SECOND}")
    )


_ENDED = "the log ended at {end} in epoch {led_epoch}, below the committed offset"
_BEYOND_LOG = Cases(
    undecided(
        "unknown end",
        "the log end at the time of the commit is unknown",
        when="`end` is null",
    ),
    violation(
        "of another topic",
        f"{_ENDED}; the group was delivered record {{offset - 1}} of the topic that had this name"
        " before",
        when="is_of_former",
    ),
    permitted(
        "beyond",
        f"the log was truncated to {{end}} since; {PERMIT}",
        when="sampled_end is null and permit is not null",
    ),
    violation("beyond", _ENDED, undecided_if="sampled_end is null and is_forked and is_unreported"),
    evidence="end, sampled_end, led_epoch, committed_epoch, permit",
    **AT_COMMIT,
)


def commit_beyond_log(trace: Trace) -> CheckOutcome:
    """The committed offset lay beyond the end of the log at that time.

    Deliveries and the targets of resets lay within the log, unless they were of another topic that
    had the name before; so did what a sample of that epoch had shown. For other offsets, the end is
    that of the leader's next sample in that epoch, else where the epoch ends on the surviving
    branch, else the end of the run.

    Permitted: the epoch ends there by an election that permits the loss of what followed.
    Undecided: none of these ends is known, or an election since is not.
    Evaluates: every stored commit.
    Source: KIP-320: a position that no broker handed out can only be validated by accident.
    """
    commits = stored_commits(trace)
    open_ones = _with_reset_to(commits.where("polled_at is null and offset > 0"), trace).where(
        "reset_cause is null"
    )
    ends = (
        of_present_topic(trace["samples"], trace, "at_micros")
        .where("broker = leader and log_end_offset >= 0")
        .select(
            *_LOG,
            F.col("leader_epoch").alias("led_epoch"),
            F.col("at_micros").alias("sampled_micros"),
            "log_end_offset",
        )
    )
    next_end = (
        open_ones.select(*COMMIT, "led_epoch", "committed_micros")
        .join(ends, on=[*_LOG, "led_epoch"], how="inner")
        .withColumn("_later", F.expr(f"sampled_micros > committed_micros + {trace.clock_micros}"))
        .groupBy(*COMMIT)
        .agg(
            F.expr("min_by(log_end_offset, sampled_micros) filter (where _later)").alias(
                "sampled_end"
            ),
            F.expr("max(log_end_offset) filter (where sampled_micros <= committed_micros)").alias(
                "shown_end"
            ),
        )
        .where("sampled_end is not null or shown_end is not null")
    )
    newest = trace["leaderships"].groupBy(*_LOG).agg(F.max("leader_epoch").alias("newest_epoch"))
    found = (
        open_ones.join(next_end, on=list(COMMIT), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .join(trace.log_bounds, on=list(_LOG), how="left")
        .join(newest, on=list(_LOG), how="left")
        .withColumn("fork", F.expr(fork_then("led_epoch", FOREVER)))
        .selectExpr(
            "*",
            "coalesce(sampled_end, fork, if(led_epoch = newest_epoch, log_end, null)) as end",
            "fork is not null as is_forked",
        )
        .where("(end is null or end < offset) and not coalesce(shown_end >= offset, false)")
    )
    found = with_permit_since(found, trace, offset="end")
    return CheckOutcome(findings(found, _BEYOND_LOG), count(commits))


def _with_reset_to(commits: Frame, trace: Trace) -> Frame:
    """Add reset_cause: of a reset of the group that had led to exactly the committed offset."""
    resets = of_present_topic(client_resets(trace), trace, "at_micros").selectExpr(
        *PARTITION, "to_offset as offset", "at_micros as reset_micros", "cause as reset_cause"
    )
    led = (
        commits.select(*COMMIT, "offset", "committed_micros")
        .join(resets, on=[*PARTITION, "offset"], how="inner")
        .where(f"reset_micros <= committed_micros + {COMMIT_CLOCK_MICROS}")
        .groupBy(*COMMIT)
        .agg(F.max_by("reset_cause", "reset_micros").alias("reset_cause"))
    )
    return commits.join(led, on=list(COMMIT), how="left")


def _readable(commits: Frame, trace: Trace) -> Frame:
    """Without what a transaction wrote, where the group reads committed values only."""
    committed = [
        group.group for group in trace.plan.groups if group.isolation == Isolation.READ_COMMITTED
    ]
    if not committed:
        return commits
    before = commits.selectExpr(*_LOG, "offset - 1 as offset").distinct()
    hidden = trace.engine.materialized(written_at(before, trace)).selectExpr(
        *_LOG, "offset + 1 as offset", "true as is_hidden"
    )
    return commits.join(hidden, on=[*_LOG, "offset"], how="left").where(
        ~(F.col("group").isin(committed) & F.coalesce("is_hidden", F.lit(False)))
    )


CHECKS = (
    CheckDefinition(
        "D2", commit_beyond_processed, needs=("committed_offsets",), cases=_BEYOND_PROCESSED
    ),
    CheckDefinition(
        "D3",
        commit_beyond_log,
        needs=("committed_offsets", "leaderships", "log_starts", "epoch_checkpoints", "polls"),
        cases=_BEYOND_LOG,
    ),
)
