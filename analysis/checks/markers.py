"""Whether each transaction is ended by its own markers, the same way in all partitions."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import (
    PERMIT,
    Cases,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.permits import with_later_permit, with_marker_permit
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import MARKED_SECONDS, RETRY_MICROS, ends
from analysis.facts.transactions import stored_of_transactions, writes
from contract.tables import MICROS_PER_SECOND

OPEN_SECONDS_MAX = 900
"""Kafka's default of `transaction.max.timeout.ms`: no transaction stays open for longer."""

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_CLOSED = "'Empty', 'CompleteCommit', 'CompleteAbort', 'Dead'"

_IS_ENDED = "closed_micros is not null"
_HAS_NO_MARKER = (
    "{records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s"
    " after it"
)
_HANGING = Cases(
    permitted(
        "ended without a marker",
        f"{_HAS_NO_MARKER} was ended; {PERMIT}",
        when=f"{_IS_ENDED} and permit is not null",
    ),
    violation(
        "ended without a marker",
        f"{_HAS_NO_MARKER} was ended",
        when=f"{_IS_ENDED} and seconds > {MARKED_SECONDS}",
    ),
    undecided("ended without a marker", f"{_HAS_NO_MARKER} was ended", when=_IS_ENDED),
    violation("open", f"{_HAS_NO_MARKER} began", when=f"seconds > {OPEN_SECONDS_MAX}"),
    permitted("open", f"{_HAS_NO_MARKER} began"),
    evidence="records, producer, transaction, seconds, closed_micros, permit",
    at="begun_micros",
)


def hanging_transaction(trace: Trace) -> CheckOutcome:
    """The log has writes of a transaction and no marker that ends them.

    The last stable offset stays before these writes, so read_committed groups can't read beyond
    it. A transaction has ended if its client or its coordinator reports that, or if another
    producer of its transactional.id was initialized.

    Permitted: by an election since it ended that permits the loss of its marker, unless a record
        that was sent 10 s after it ended lies below where the leader's epoch started, so that the
        marker was to be before it; or it has not ended, and it began 900 s ago or less (the default
        of `transaction.max.timeout.ms`).
    Undecided: it ended 10 s ago or less.
    Evaluates: each partition of each transaction whose writes the log has.
    Source: KIP-664; KIP-890.
    """
    held = trace.engine.materialized(
        writes(trace).join(slices.surviving(trace), on=[*_LOG, "value"], how="left_semi")
    )
    open_ones = (
        held.where("marker is null and outcome != 'failed'")
        .groupBy(*_LOG, *_TRANSACTION)
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.max("answered_micros").alias("written_micros"),
        )
    )
    steps = trace["transactions"]
    begun = steps.where("change = 'begun'").select(
        *_TRANSACTION, "transactional_id", F.col("began_micros").alias("begun_micros")
    )
    closing = steps.where(
        "outcome = 'ok' and (step in ('commit', 'abort', 'initialize')"
        f" or step = 'describe' and state in ({_CLOSED}))"
    ).selectExpr(
        "transactional_id", "step", "producer as _by", "transaction as _of", "at_micros as _closed"
    )
    is_its_end = (
        "_closed > coalesce(written_micros, begun_micros) and if(step in ('commit', 'abort'),"
        " _by = producer and _of = transaction, _by != producer)"
    )
    last = trace["samples"].select("at_micros").union(steps.select("at_micros"))
    found = (
        open_ones.join(begun, on=list(_TRANSACTION), how="left")
        .join(closing, on="transactional_id", how="left")
        .withColumn("_closed", F.expr(f"if({is_its_end}, _closed, null)"))
        .groupBy(*open_ones.columns, "begun_micros")
        .agg(F.min("_closed").alias("closed_micros"))
        .crossJoin(last.agg(F.max("at_micros").alias("_last")))
        .withColumn(
            "seconds",
            (F.col("_last") - F.coalesce("closed_micros", "begun_micros")) / MICROS_PER_SECOND,
        )
    )
    found = _with_permit(trace.engine.materialized(found), trace)
    return CheckOutcome(
        findings(found, _HANGING), count(held.select(*_LOG, *_TRANSACTION).distinct())
    )


def _with_permit(hanging: Frame, trace: Trace) -> Frame:
    """Add permit: the first election since the end that may have removed the marker."""
    later = (
        slices.acknowledged(trace)
        .join(slices.surviving(trace), on=[*_LOG, "offset", "value"], how="left_semi")
        .select(*_LOG, F.col("offset").alias("_later"), "intended_micros")
    )
    owed = f"intended_micros >= closed_micros + {MARKED_SECONDS * MICROS_PER_SECOND}"
    bounded = (
        hanging.join(later, on=list(_LOG), how="left")
        .withColumn("_later", F.expr(f"if(_later > offset_last and {owed}, _later, null)"))
        .groupBy(*hanging.columns)
        .agg(F.min("_later").alias("offset"))
    )
    return with_later_permit(bounded, trace, since="closed_micros")


_IS_TRIED_ONCE = f"reported = 'refused' and waited_micros < {RETRY_MICROS}"
_ENDED = (
    "transaction {transaction} of {producer} ended with {if(_least != marker, 'commit and abort',"
    " marker)} markers; the outcome at its client: {reported}"
)
_CONTRADICTED = Cases(
    violation("split", _ENDED, when="_is_split"),
    permitted(
        "mixed",
        f"{_ENDED}; {PERMIT}",
        when="_least != marker and permit is not null",
    ),
    violation("mixed", _ENDED, when="_least != marker"),
    permitted("contrary", f"{_ENDED}; {PERMIT}", when="permit is not null"),
    undecided("contrary", _ENDED, when=f"marker = 'commit' and {_IS_TRIED_ONCE}"),
    violation(
        "contrary",
        _ENDED,
        when="marker = 'commit' and (reported = 'aborted' or commit_micros is null)"
        " or marker != 'commit' and reported = 'committed'",
    ),
    evidence="producer, transaction, marker, reported, commit_micros, permit",
    offset_first="first",
    offset_last="last",
)


def misapplied_marker(trace: Trace) -> CheckOutcome:
    """The markers of a transaction contradict each other or the outcome that its client reports.

    Its writes in one partition end at different markers; or it is committed in some partitions and
    aborted in others; or its markers differ from the outcome that its client reports; or it is
    committed, although its client never began to commit it. A commit that failed after 100 ms or
    more is left out: an earlier attempt may have succeeded, and its response may have been lost.

    Permitted: by an election that permits the loss of the commit marker, after which an abort
        marker of a later transaction ended the writes.
    Undecided: the commit failed in less than 100 ms (`retry.backoff.ms`), and the transaction is
        committed.
    Evaluates: each transaction that has a marker.
    Source: KAFKA-17754; KIP-890.
    """
    asked = ends(trace).select(*_TRANSACTION, "commit_micros", "waited_micros")
    place = F.struct(*_LOG, "_first", "_last")
    marked = writes(trace).where("marker is not null and outcome != 'failed'")
    marked = marked.join(asked, on=list(_TRANSACTION), how="left")
    ended = (
        with_marker_permit(marked, trace)
        .groupBy(*_TRANSACTION, *_LOG)
        .agg(
            F.min("offset").alias("_first"),
            F.max("last_offset").alias("_last"),
            F.min("marker").alias("_least"),
            F.max("marker").alias("_most"),
            F.min("reported").alias("reported"),
            (F.min("marker_at") != F.max("marker_at")).alias("_is_split"),
            F.min("marker_permit").alias("_permit"),
            F.max(F.expr("marker = 'abort' and marker_permit is null")).alias("_is_owed"),
        )
        .groupBy(*_TRANSACTION)
        .agg(
            F.min_by(place, F.struct(~F.col("_is_split"), *_LOG)).alias("_at"),
            F.min("_least").alias("_least"),
            F.max("_most").alias("marker"),
            F.min("reported").alias("reported"),
            F.max("_is_split").alias("_is_split"),
            F.expr("if(max(_is_owed), null, min(_permit))").alias("permit"),
        )
    )
    found = ended.join(asked, on=list(_TRANSACTION), how="left").selectExpr(
        "*", "_at.topic", "_at.partition", "_at._first as first", "_at._last as last"
    )
    return CheckOutcome(findings(found, _CONTRADICTED), count(ended))


_ITS_WRITES = (
    "transaction {transaction} of {producer} committed offsets of group {group}, but {records} of"
    " its writes are"
)
_NO_OUTPUT = Cases(
    violation("aborted", f"{_ITS_WRITES} aborted"),
    permitted("lost", f"{_ITS_WRITES} lost; {PERMIT}", when="permit is not null"),
    violation("lost", f"{_ITS_WRITES} lost"),
    undecided("not ended", f"{_ITS_WRITES} not ended"),
    evidence="records, producer, transaction, permit",
)


def offsets_without_output(trace: Trace) -> CheckOutcome:
    """The offsets of a transaction are committed, and writes of it are aborted or lost.

    So the records up to these offsets were processed without a result.

    Permitted: the write is lost, and an event after it permits the loss: an election, a deletion,
        or that the topic was created again.
    Undecided: no marker ends the write.
    Evaluates: each transaction that wrote, and whose offsets are committed.
    Source: KIP-98, sendOffsetsToTransaction: offsets are part of the transaction.
    """
    commits = stored_of_transactions(trace).where("committed > 0")
    written = (
        writes(trace).where("outcome != 'failed'").join(commits, on=list(_TRANSACTION), how="inner")
    )
    found = (
        with_later_permit(written, trace)
        .join(
            slices.surviving(trace).select(*_LOG, "value", F.lit(True).alias("_kept")),
            on=[*_LOG, "value"],
            how="left",
        )
        .withColumn(
            "kind",
            F.expr(
                "case when marker = 'abort' then 'aborted' when _kept is null then 'lost'"
                " when marker is null then 'not ended' end"
            ),
        )
        .where("kind is not null")
        .withColumn("permit", F.expr("if(kind = 'lost', permit, null)"))
        .groupBy("group", *_LOG, *_TRANSACTION, "kind", "permit")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
        )
    )
    return CheckOutcome(
        findings(found, _NO_OUTPUT), count(written.select(*_TRANSACTION).distinct())
    )


CHECKS = (
    CheckDefinition(
        "C5",
        hanging_transaction,
        needs=("transactions", "sends", "replica_records", "replica_batches"),
        cases=_HANGING,
    ),
    CheckDefinition(
        "C6",
        misapplied_marker,
        needs=("transactions", "sends", "replica_batches"),
        cases=_CONTRADICTED,
    ),
    CheckDefinition(
        "C7",
        offsets_without_output,
        needs=("transactions", "sends", "committed_offsets", "replica_batches"),
        cases=_NO_OUTPUT,
    ),
)
