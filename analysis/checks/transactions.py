"""Whether transactions are whole, and aborted ones hidden.

How a transaction ended is what its marker in the log says, else what its client was answered.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count_records, spans
from analysis.checks.cases import DECIDED, Cases, decided, findings, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.declared import OF_EVENT
from analysis.facts.deliveries import deliveries
from analysis.facts.permits import with_later_permit, with_marker_permit
from analysis.facts.positions import PARTITION
from analysis.facts.progress import final_positions, jumps_permitted
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import committed_readers, ends
from analysis.facts.transactions import writes

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_IS_PASSED = """
    offset is null or offset >= first_offset
    and (offset < final_position or offset < position and answered_micros <= seen_micros)
"""
"""A write that was there when the group went past its offset, be it truncated since."""

_UNTAKEN = Cases(
    violation(
        "{ended_as}",
        "{records} values of transaction {transaction} of {producer} were delivered as committed:"
        " {reason}",
        permitted_if="marker_permit is not null",
        undecided_if="ended_as = 'unknown'",
    ),
    evidence="records, producer, transaction, reason, marker_permit",
)


def aborted_read(trace: Trace) -> CheckOutcome:
    """A read_committed group was delivered a value that no committed transaction wrote.

    That is a value of a failed send, of a transaction that an abort marker ends in the log, or of
    one that its client aborted, also if a marker of another transaction commits some of it.

    Permitted: by an election that permits the loss of its commit marker, as in `misapplied_marker`.
    Undecided: no marker ends the transaction, and its client was refused or got no answer: an
        earlier attempt may have committed it.
    Evaluates: every write of a transaction that is not known as committed, for each read_committed
        group.
    Source: `isolation.level`; KIP-98.
    """
    untaken = _with_marker_permit(writes(trace).where("ended_as != 'committed'"), trace)
    owed = untaken.join(committed_readers(trace), on="topic", how="inner")
    delivered = slices.polls(trace).select(
        "group", *_LOG, "offset", "last_offset", "value", "polled_micros"
    )
    found = spans(
        trace,
        owed.drop("offset", "last_offset").join(
            delivered, on=["group", *_LOG, "value"], how="inner"
        ),
        "group",
        *_LOG,
        *_TRANSACTION,
        "ended_as",
        "reason",
        "marker_permit",
        at=F.min("polled_micros"),
    )
    return CheckOutcome(findings(found, _UNTAKEN), count_records(owed))


_SKIPPED = (
    "{records} values of committed transaction {transaction} of {producer} were skipped; {seen}"
    " others were delivered{coalesce(concat('; ', permit.words), '')}"
)
_IS_PERMITTED = (
    "offset is not null and permit is not null"
    " and (_kept is null or permit.cause = 'reset' or marker_permit is not null)"
)
_MISSED = Cases(
    violation(
        "torn", _SKIPPED, when="seen > 0", permitted_if=_IS_PERMITTED, undecided_if="offset is null"
    ),
    violation("hidden", _SKIPPED, permitted_if=_IS_PERMITTED, undecided_if="offset is null"),
    evidence="records, producer, transaction, seen, permit",
)


def torn_transaction(trace: Trace) -> CheckOutcome:
    """A read_committed group went past writes of a committed transaction and never got them.

    It got other writes of the transaction (`torn`), or none (`hidden`).

    Permitted: by an event after the write and before the group went past it: an election that
        permits its loss and started its epoch at or below it, a deletion up to a log start above
        it, or that the topic was created again; by a reset whose policy led the group past it; or
        by an election that permits the loss of its commit marker, as in `misapplied_marker`.
    Undecided: no source reports that the write was appended.
    Evaluates: every write of a committed transaction that a group went past.
    Source: KIP-98: a transaction is atomic over its partitions.
    """
    passed = trace.engine.materialized(
        writes(trace)
        .where("ended_as = 'committed' or reported = 'committed' and ended_as = 'aborted'")
        .join(committed_readers(trace), on="topic", how="inner")
        .join(final_positions(trace), on=["group", *_LOG], how="inner")
        .where(_IS_PASSED)
    )
    whole = passed.groupBy("group", *_TRANSACTION).agg(F.sum("records").alias("_passed"))
    of_transaction = Window.partitionBy("group", *_TRANSACTION)
    unread = (
        passed.join(slices.polls(trace), on=["group", *_LOG, "value"], how="left_anti")
        .withColumn("_unread", F.sum("records").over(of_transaction))
        .join(whole, on=["group", *_TRANSACTION], how="inner")
    )
    kept = slices.surviving(trace).select(*_LOG, "value", F.lit(1).alias("_kept"))
    missed = (
        decided(
            _with_permit(_with_marker_permit(unread, trace), trace)
            .withColumn("permit", F.coalesce("marker_permit", "permit"))
            .withColumn("seen", F.col("_passed") - F.col("_unread"))
            .join(kept, on=[*_LOG, "value"], how="left"),
            _MISSED,
        )
        .withColumn("permit", F.expr("if(verdict = 'permitted', permit, null)"))
        .groupBy("group", *_LOG, *_TRANSACTION, *DECIDED, "seen", "permit")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
        )
    )
    return CheckOutcome(findings(missed, _MISSED), count_records(passed))


def _with_marker_permit(written: Frame, trace: Trace) -> Frame:
    committed = ends(trace).select(*_TRANSACTION, "commit_micros")
    return with_marker_permit(
        written.join(committed, on=list(_TRANSACTION), how="left"), trace
    ).drop("commit_micros")


def _with_permit(missed: Frame, trace: Trace) -> Frame:
    """What a group never got, with `permit`: the first event that permits it.

    A reset that led the group past it, or an event of `with_later_permit` before it went past.

    Args:
        missed: with group, topic, partition, offset, answered_micros.
        trace: the run.
    """
    key = (*PARTITION, "offset", "answered_micros")
    at = missed.select(*key).distinct()
    reached = (
        deliveries(trace)
        .selectExpr(*PARTITION, "first_offset as reached", "at_micros")
        .union(
            trace["group_events"]
            .where("position is not null")
            .select(*PARTITION, F.col("position").alias("reached"), "at_micros")
        )
    )
    passed = (
        at.join(reached, on=list(PARTITION), how="inner")
        .where("reached > offset and at_micros >= coalesce(answered_micros, at_micros)")
        .groupBy(*key)
        .agg(F.min("at_micros").alias("passed_micros"))
    )
    led = (
        at.join(jumps_permitted(trace), on=list(PARTITION), how="inner")
        .where("from_offset <= offset and number > offset")
        .groupBy(*key)
        .agg(F.min(F.struct(*OF_EVENT)).alias("_jump"))
    )
    return (
        with_later_permit(
            missed.join(passed, on=list(key), how="left"), trace, until="passed_micros"
        )
        .join(led, on=list(key), how="left")
        .withColumn("permit", F.coalesce("_jump", "permit"))
        .drop("_jump", "passed_micros")
    )


CHECKS = (
    CheckDefinition("A8", aborted_read, needs=("transactions", "sends", "polls"), cases=_UNTAKEN),
    CheckDefinition(
        "C4",
        torn_transaction,
        needs=("transactions", "sends", "polls", "group_events"),
        cases=_MISSED,
    ),
)
