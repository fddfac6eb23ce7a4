"""Truncations and resets: noticed, missed, or for no reason."""

from analysis.checks.base import CheckDefinition, CheckOutcome, members_judged
from analysis.checks.cases import Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import deliveries
from analysis.facts.positions import PARTITION
from analysis.facts.progress import never_delivered
from analysis.facts.resets import (
    noticed,
    resets_of,
    with_committed_epochs,
    with_history,
    with_log_ends,
)
from analysis.facts.state import (
    FOREVER,
    end_then,
    has_begun,
    is_overwritten,
    may_be_overwritten,
    timelines,
    with_timelines,
)
from analysis.facts.topics import of_present_topic, with_log_starts
from analysis.facts.trace import Trace
from contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")
_IN_ORDER = "struct(at_micros, seq, first_place)"

_RESET = Cases(
    permitted("{cause}", "{cause}: the client raised an exception", when="to_offset is null"),
    permitted("{cause}", "{cause}: from {from_offset} to {to_offset} (policy {policy})"),
    evidence="policy, from_offset, from_epoch, to_offset, to_epoch, records, bytes,"
    " seconds, skipped, log_line",
    offset_first="from_offset",
    offset_last="to_offset",
    at="at_micros",
)


def reset(trace: Trace) -> CheckOutcome:
    """A client reset its position.

    Reports cause, policy, from and to; the magnitude in records, bytes and seconds of history, as
    far as a replica still has the batches; and how many records the reset skipped that the group
    never got. A group that starts without a commit gives up no position and is left out.

    Permitted: always.
    Evaluates: every member that was opened.
    Source: `auto.offset.reset`.
    """
    found = _with_skips(with_history(resets_of(trace), trace), trace).withColumn(
        "records", F.col("from_offset") - F.col("to_offset")
    )
    return CheckOutcome(findings(found, _RESET), members_judged(trace))


_UNJUSTIFIED = Cases(
    undecided(
        "{cause}",
        "the position was within the log, but had no leader epoch to compare",
        when="has_no_epoch",
    ),
    undecided(
        "{cause}",
        "the log start at that time may have been below or above the position",
        when="coalesce(from_offset < start_high, true)",
    ),
    undecided(
        "{cause}",
        "the start of a newer leader epoch is not known",
        when="timeline is null or may_be_off",
    ),
    undecided(
        "{cause}",
        "no sample of the leader before the reset has the log end",
        when="end_before is null",
    ),
    undecided(
        "{cause}",
        "the position was above the log end in the last sample before, but not in a later one",
        when="from_offset > end_before",
    ),
    violation("{cause}", "the position was on the surviving branch; no reset was expected"),
    evidence="policy, from_offset, from_epoch, to_offset, start_low, start_high,"
    " end_before, end_after, log_line",
    offset_first="from_offset",
    offset_last="to_offset",
    at="at_micros",
)


def unjustified_reset(trace: Trace) -> CheckOutcome:
    """A client reset a position that was within the log and on its branch at that time.

    This is KAFKA-19902's symptom. The position is compared with the leader's log start, its log end
    and the start of each newer epoch at that time.

    Undecided: neither the position nor the group's commit of that offset has an epoch; the log
        start of that time, or the start of a newer epoch, has bounds on both sides of the position;
        or no sample of the leader before the reset shows that the log reached so far.
    Evaluates: every member that was opened.
    Source: KAFKA-19902; KIP-320.
    """
    until = f"at_micros + {trace.clock_micros}"
    within = (
        with_log_starts(with_log_ends(with_committed_epochs(resets_of(trace), trace), trace), trace)
        .join(trace.log_bounds.select(*_LOG, "log_end"), on=list(_LOG), how="inner")
        .join(timelines(trace), on=list(_LOG), how="left")
        .withColumn("end_after", F.coalesce("end_after", "log_end"))
        .where("from_offset >= start_low and from_offset <= greatest(end_before, end_after)")
        .withColumn("has_no_epoch", F.col("from_epoch") < 0)
        .withColumn("is_off", is_overwritten("from_epoch", "from_offset", until))
        .withColumn("may_be_off", may_be_overwritten("from_epoch", "from_offset", until))
        .withColumn("is_known", F.col("timeline").isNull() | has_begun("from_epoch", until))
    )
    found = within.where(
        "if(has_no_epoch, coalesce(from_offset <= end_before, true), is_known and not is_off)"
    )
    return CheckOutcome(findings(found, _UNJUSTIFIED), members_judged(trace))


_SILENT = Cases(
    permitted(
        "silent",
        "{records} records of epoch {gone_epoch} were read and then truncated; the leader of epoch"
        " {reached_epoch} returned {returned} for their epoch, which is not below the position, so"
        " that no client could notice",
        when="returned > offset_last",
    ),
    violation(
        "silent",
        "{records} records of epoch {gone_epoch} were read and then truncated; the group continued"
        " in epoch {reached_epoch} without an error",
        permitted_if=f"commit_epoch = '{CommitEpoch.NONE}' and is_resumed",
    ),
    evidence="records, gone_epoch, reached_epoch, went_on_at, commit_epoch",
)


def truncation_undetected(trace: Trace) -> CheckOutcome:
    """A group read records that were truncated, read on in a later epoch and never noticed.

    The group went on above the first of these records, so that it never got the records in their
    place. Each truncation needs a notice of its own, between the first of these records and the
    delivery with which the group went on. Records below the log start were truncated if a newer
    epoch started at or below them, else deleted. Corrupted values are left out.

    Permitted: the group commits no epoch, and another member, or the same one after it was opened
        or assigned again, went on from a commit; or the end that the leader returned for the epoch
        was not below the position: its log lacked the epoch, and had an older one there.
    Evaluates: every delivery.
    Source: KIP-320; `OffsetAndMetadata(long)`: no client can validate a commit without an epoch
        (KAFKA-20507).
    """
    silent = _went_on(trace, _truncated_reads(trace)).join(trace.groups, on="group", how="left")
    found = silent.join(
        noticed(trace, silent), on=[*PARTITION, "first_micros", "until_micros"], how="left_anti"
    )
    found = with_timelines(found, trace).withColumn(
        "returned", F.expr(end_then("gone_epoch", f"until_micros + {trace.clock_micros}"))
    )
    return CheckOutcome(findings(found, _SILENT), trace.records("polls"))


def _truncated_reads(trace: Trace) -> Frame:
    """What groups read and a truncation removed, by group, partition and epoch."""
    starts = trace.log_bounds.select(*_LOG, "log_start")
    polls = of_present_topic(
        slices.polls(trace).where("is_intact"), trace, f"polled_micros - {trace.clock_micros}"
    )
    is_truncated = is_overwritten("leader_epoch", "offset + 1", FOREVER)
    return trace.engine.materialized(
        polls.join(slices.surviving(trace), on=[*_LOG, "value"], how="left_anti")
        .join(starts, on=list(_LOG), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .where((F.expr("log_start is null or offset >= log_start")) | is_truncated)
        # A value counts once, however often it was delivered.
        .groupBy(*PARTITION, F.col("leader_epoch").alias("gone_epoch"), "value", "records")
        .agg(
            F.min("offset").alias("offset"),
            F.max("last_offset").alias("last_offset"),
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("at"),
            F.max_by("member", "polled_micros").alias("gone_member"),
        )
        .groupBy(*PARTITION, "gone_epoch")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("first_micros").alias("first_micros"),
            F.max_by("gone_member", "at").alias("gone_member"),
            F.max("at").alias("at"),
        )
    )


def _went_on(trace: Trace, gone: Frame) -> Frame:
    """Those after which the group's next delivery of a later epoch lay above the first of them.

    Adds reached_epoch, went_on_at (offset), until_micros, is_resumed (whether another member, or
    another assignment, went on).
    """
    key = (*PARTITION, "gone_epoch")
    assigned = (
        trace["group_events"]
        .where("change in ('assigned', 'opened')")
        .select("group", F.col("at_micros").alias("assigned_micros"))
    )
    after = (
        gone.join(deliveries(trace).drop("records"), on=list(PARTITION), how="inner")
        .where("leader_epoch > gone_epoch and at_micros >= first_micros")
        .groupBy(*key)
        .agg(
            F.expr(f"min_by(leader_epoch, {_IN_ORDER})").alias("reached_epoch"),
            F.expr(f"min_by(first_offset, {_IN_ORDER})").alias("went_on_at"),
            F.expr(f"min_by(member, {_IN_ORDER})").alias("next_member"),
            F.min("at_micros").alias("until_micros"),
        )
    )
    went_on = gone.join(after, on=list(key), how="inner").where("went_on_at > offset_first")
    again = (
        went_on.select(*key, "at", "until_micros")
        .join(assigned, on="group", how="inner")
        .where("assigned_micros > at and assigned_micros <= until_micros")
        .select(*key, F.lit(1).alias("is_again"))
        .distinct()
    )
    return went_on.join(again, on=list(key), how="left").withColumn(
        "is_resumed", F.expr("next_member != gone_member or is_again is not null")
    )


def _with_skips(resets: Frame, trace: Trace) -> Frame:
    """Add skipped: how many records from from_offset up to to_offset the group never got."""
    key = (*PARTITION, "member", "at_micros", "from_offset")
    jumps = resets.where("to_offset > from_offset").select(*key, "to_offset").distinct()
    missed = (
        never_delivered(trace)
        .select(*PARTITION, "offset", "records")
        .distinct()
        .join(jumps, on=list(PARTITION), how="inner")
        .where("offset >= from_offset and offset < to_offset")
        .groupBy(*key)
        .agg(F.sum("records").alias("skipped"))
    )
    return resets.join(missed, on=list(key), how="left").withColumn(
        "skipped", F.coalesce("skipped", F.lit(0))
    )


CHECKS = (
    CheckDefinition("F5, F6, F9", reset, needs=("group_events",), cases=_RESET),
    CheckDefinition(
        "F7",
        unjustified_reset,
        needs=("group_events", "log_starts", "epoch_checkpoints"),
        cases=_UNJUSTIFIED,
    ),
    CheckDefinition(
        "F2", truncation_undetected, needs=("polls", "group_events", "log_starts"), cases=_SILENT
    ),
)
