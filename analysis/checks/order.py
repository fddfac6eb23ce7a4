"""Whether records keep their order: sent, and within a session of reading.

The classes are those that Jepsen's Kafka tests distinguish (`nonmonotonic-send`, `poll-skip`,
`nonmonotonic-poll`); the forms within one poll or transaction are kinds of the same checks here.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count_records, spans
from analysis.checks.cases import Cases, findings, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.acknowledgements import lost
from analysis.facts.deliveries import acknowledged_sends
from analysis.facts.positions import PARTITION
from analysis.facts.progress import deleted_records, was_deleted_from
from analysis.facts.sessions import moved_back, on_branch, passed
from analysis.facts.state import had, with_timelines
from analysis.facts.topics import with_log_starts
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import committed_readers
from analysis.facts.transactions import writes

_LOG = ("topic", "partition")
_STREAM = ("producer", *_LOG)
_OWES_ORDER = """
    case
        when is_idempotent or in_flight_max = 1 then 'owed'
        when in_flight_max > 1 and not is_idempotent or acks != 'all' then 'permitted'
        when transaction is not null then 'owed'
        else 'undecided'
    end
"""

_IN_TURN = (
    "value {sequence} of {producer} is at offset {offset}; value {prev_sequence}, sent before it,"
    " is at offset {prev_offset}"
)
_UNPROMISED = "promise = 'permitted'"
_UNKNOWN = "promise = 'undecided' or not is_kept"
_TURNED = Cases(
    violation(
        "within a transaction",
        _IN_TURN,
        when="is_within",
        permitted_if=_UNPROMISED,
        undecided_if=_UNKNOWN,
    ),
    violation("between sends", _IN_TURN, permitted_if=_UNPROMISED, undecided_if=_UNKNOWN),
    evidence="producer, sequence, prev_sequence, prev_offset, acks, is_idempotent, in_flight_max",
    offset_first="offset",
    offset_last="prev_offset",
)


def nonmonotonic_send(trace: Trace) -> CheckOutcome:
    """Of two values that a producer sent to a partition in turn, the later has the lower offset.

    An idempotent producer keeps the order when it retries, and so does one with
    `max.in.flight.requests.per.connection=1`. It is no reordering if the earlier value is lost, so
    that its offset was free again, or if the log in which the later one was written did not have
    it: `lost_record` evaluates that.

    Permitted: the producer is not idempotent and has several requests in flight; or these settings
        are not known, and acks is not all.
    Undecided: the earlier value is below the log start; or acks=all, without a transaction, and
        these settings are not known.
    Evaluates: every acknowledged value, with the value that was acknowledged before it in the order
        of sending.
    Source: `enable.idempotence`; `max.in.flight.requests.per.connection`.
    """
    sends = slices.acknowledged(trace).select(
        *_STREAM,
        "value",
        "sequence",
        "offset",
        "last_offset",
        "acks",
        "transaction",
        "answered_micros",
        "is_idempotent",
        "in_flight_max",
    )
    in_stream = Window.partitionBy(*_STREAM).orderBy("sequence")
    last_sequence = F.expr("sequence + last_offset - offset as sequence")
    last = F.struct(last_sequence, F.col("last_offset").alias("offset"), "value", "transaction")
    before = F.lag(last).over(in_stream)
    turned = trace.engine.materialized(
        sends.withColumn("prev", before)
        .where("offset <= prev.offset")
        .selectExpr(
            *_STREAM,
            "sequence",
            "offset",
            "acks",
            "answered_micros as at",
            "value as own_value",
            "prev.sequence as prev_sequence",
            "prev.offset as prev_offset",
            "prev.value as value",
            "coalesce(transaction = prev.transaction, false) as is_within",
            "is_idempotent",
            "in_flight_max",
            f"{_OWES_ORDER} as promise",
        )
    )
    # `value` is the first of the earlier slice, and stands for all of it. Below the log start it is
    # not known whether it had been truncated.
    held = slices.surviving(trace).select(*_LOG, "value", "leader_epoch")
    by_epoch = held.union(lost(trace).select(*_LOG, "value", "acknowledged_epoch"))
    known = (
        with_timelines(held.join(turned, on=[*_LOG, "value"], how="inner").distinct(), trace)
        .join(by_epoch.toDF(*_LOG, "own_value", "own_epoch"), on=[*_LOG, "own_value"], how="left")
        .where(had("own_epoch", "leader_epoch", "prev_offset"))
        .select(*turned.columns)
        .distinct()
        .withColumn("is_kept", F.lit(True))
        .unionByName(_expired(trace, turned).withColumn("is_kept", F.lit(False)))
    )
    return CheckOutcome(findings(known, _TURNED), count_records(acknowledged_sends(trace)))


def _expired(trace: Trace, turned: Frame) -> Frame:
    starts = trace.log_bounds.select(*_LOG, "log_start")
    return (
        turned.join(starts, on=list(_LOG), how="inner")
        .where("prev_offset < log_start")
        .drop("log_start")
    )


_PASSED = "{member} skipped {records} records of the log within a session"
_HAS_NO_MARKER = "ended_as = 'unknown'"
_SKIPPED = Cases(
    violation("within a poll", _PASSED, undecided_if=_HAS_NO_MARKER),
    violation("between polls", _PASSED, undecided_if=_HAS_NO_MARKER),
    evidence="records, member",
)


def poll_skip(trace: Trace) -> CheckOutcome:
    """Within a session, a record between two deliveries in turn was not delivered.

    Within a poll or between polls. A record counts if the surviving log had it at that time (some
    were deleted later and are still in a segment) and its epoch lies between those of the
    deliveries. Control records, aborted batches and records of another branch are not expected. A
    group that reads committed values is to get a transaction's records only if it was committed.

    Undecided: it is not known how the record's transaction ended.
    Evaluates: every delivery.
    Source: `KafkaConsumer`: records of a partition are returned in order.
    """
    record = (*_LOG, "offset", "leader_epoch", "value")
    gone_past = (
        slices.surviving(trace)
        .select(*record)
        .join(passed(trace), on=[*_LOG, "offset"], how="inner")
    )
    if was_deleted_from(trace):
        deleted_later = (
            deleted_records(trace)
            .select(*record)
            .join(with_log_starts(passed(trace), trace), on=[*_LOG, "offset"], how="inner")
        )
        gone_past = gone_past.unionByName(
            deleted_later.where("offset >= start_high").drop("start_low", "start_high")
        )
    owed = _with_outcomes(gone_past.where(on_branch()), trace).where(
        "ended_as not in ('aborted', 'failed')"
    )
    found = spans(trace, owed, *PARTITION, "member", "kind", "ended_as", at=F.min("at_micros"))
    return CheckOutcome(findings(found, _SKIPPED), trace.records("polls"))


def _with_outcomes(skipped: Frame, trace: Trace) -> Frame:
    """Add ended_as: of a transaction's writes, for readers of committed values; else `owed`."""
    readers = committed_readers(trace)
    if not trace.rows["transactions"] or readers.isEmpty():
        return skipped.withColumn("ended_as", F.lit("owed"))
    outcomes = writes(trace).select(*_LOG, "value", F.col("ended_as").alias("_ended_as"))
    committed = readers.withColumn("_committed", F.lit(True))
    return (
        skipped.join(committed, on=["group", "topic"], how="left")
        .join(outcomes, on=[*_LOG, "value"], how="left")
        .withColumn("ended_as", F.expr("if(_committed, coalesce(_ended_as, 'owed'), 'owed')"))
    )


_RECEIVED = "{member} received offset {first_offset} after offset {prev_offset} within a session"
_BACK = Cases(
    violation("within a poll", _RECEIVED, when="seq = prev_seq", permitted_if="is_permitted"),
    violation("back to its commit", _RECEIVED, when="is_commit", permitted_if="is_permitted"),
    violation("between polls", _RECEIVED, permitted_if="is_permitted"),
    evidence="member, prev_offset, prev_epoch, first_epoch",
    offset_first="first_offset",
    offset_last="prev_offset",
    at="at_micros",
)


def nonmonotonic_poll(trace: Trace) -> CheckOutcome:
    """Within a session, a record was delivered after one with a higher offset.

    Permitted: from one poll to the next the member returned to an offset that its group had
        committed, as in a rebalance that is over within one poll.
    Evaluates: every delivery.
    Source: `KafkaConsumer`: the position moves past each record that poll returns.
    """
    found = moved_back(trace)
    return CheckOutcome(findings(found, _BACK), trace.records("polls"))


CHECKS = (
    CheckDefinition("B2", nonmonotonic_send, needs=("sends", "log_starts"), cases=_TURNED),
    CheckDefinition("B3", poll_skip, needs=("polls", "group_events"), cases=_SKIPPED),
    CheckDefinition("B4", nonmonotonic_poll, needs=("polls", "group_events"), cases=_BACK),
)
