"""Acknowledged records that are not in the surviving log, and the events that removed them."""

from analysis.checks.base import (
    CheckDefinition,
    CheckOutcome,
    Totals,
    count_records,
    spans,
)
from analysis.checks.cases import (
    DECIDED,
    PERMIT,
    Cases,
    decided,
    findings,
    permitted,
    place,
    undecided,
    violation,
)
from analysis.checks.summaries import summary_of_losses
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.acknowledgements import lost
from analysis.facts.deliveries import acknowledged_sends
from analysis.facts.elections import tails_cut
from analysis.facts.leader_epochs import HEARD_SECONDS
from analysis.facts.permits import deletion_orders, permits, with_permit
from analysis.facts.replicas import logs_without_records
from analysis.facts.state import took_over, with_timelines
from analysis.facts.topics import creations, deletion_in_words, with_deletion
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_HEARD_MICROS = HEARD_SECONDS * MICROS_PER_SECOND
_IS_TRUNCATED = "(later is not null or truncated_to is not null)"
_IS_UNREAD = "offset < log_start and not coalesce(subscribed > 0 and missed <= 0, false)"
_IS_LEFT = "coalesce(offset >= log_start, true)"
_GUESS = "{if(known_by = 'guess', ' (assumed: the epoch at that time)', '')}"
_BROKER = (
    "{if(truncated_to is null, '',"
    " format_string(' when broker %s truncated its log to %s', broker, truncated_to))}"
)
_LOST = (
    "{records} records acknowledged (acks={acks}) under epoch {acknowledged_epoch}"
    f"{_GUESS}: {{kind}}{_BROKER}"
)
_UNREAD = f"{_LOST}{place(deletion_in_words())}"
_NOT_DECODED = "; not all records of this log were decoded"
_NOT_SURVIVING = Cases(
    permitted(
        "deleted with its topic",
        f"{_LOST}, created again at metadata offset {{created_at}}",
        when="is_of_old_topic",
    ),
    permitted(
        "truncated",
        f"{_LOST}; {{permitted_by.words}}",
        when=f"{_IS_TRUNCATED} and permit is not null",
    ),
    permitted(
        "truncated",
        f"{_LOST}; acks={{acks}} does not wait for replication",
        when=f"{_IS_TRUNCATED} and acks != 'all'",
    ),
    undecided("truncated", _LOST, when=f"{_IS_TRUNCATED} and is_unreported"),
    undecided("truncated", f"{_LOST}{_NOT_DECODED}", when=f"{_IS_TRUNCATED} and is_unmatched"),
    violation("truncated", _LOST, when=_IS_TRUNCATED),
    permitted("tail truncated", _LOST, when="is_tail"),
    permitted(
        "expired_unread",
        _UNREAD,
        when=f"{_IS_UNREAD} and (retention_ms is not null or deletes or is_ordered)",
    ),
    undecided("expired_unread", f"{_UNREAD}{_NOT_DECODED}", when=f"{_IS_UNREAD} and is_unmatched"),
    violation("expired_unread", _UNREAD, when=_IS_UNREAD),
    undecided("unexplained", _LOST, when=f"{_IS_LEFT} and is_maybe_older"),
    undecided("unexplained", f"{_LOST}{_NOT_DECODED}", when=f"{_IS_LEFT} and is_unmatched"),
    violation("unexplained", _LOST, when=_IS_LEFT),
    evidence="records, acks, acknowledged_epoch, broker, known_by, held_by, producer,"
    " truncated_to, truncated_micros, later_epoch, later_start, groups_missed,"
    " permitted_by, deletion",
)
"""What was deleted after every group had it is no finding."""
_MAY_BE_TRUNCATED = """
    coalesce(offset >= log_start, true)
    or exists(timeline, one -> one.leader_epoch > acknowledged_epoch
        and coalesce(one.start_low, 0) <= offset)
"""
"""No newer epoch is known to have started above all that was deleted since."""
_IS_TAIL = """
    exists(tails, one -> one.target = concat('replicas:', topic, '-', partition)
        and answered_micros <= one.injected_micros + {clock}
        and offset >= coalesce(one.log_end, 0))
"""
_IS_MAYBE_OLDER = f"""
    answered_micros <= created_micros + {_HEARD_MICROS}
    or known_by = 'guess' and acks != 'all' and exists(timeline,
        one -> one.leader_epoch = acknowledged_epoch and one.leader_epoch > 0
            and coalesce(one.start_low, 0) <= offset)
"""
"""The old topic, or a leader that was deposed and then truncated them, may have acknowledged."""
_STARTS = """
    array_distinct(concat(array(offset), filter(
        concat(
            array(unmatched_first, unmatched_last + 1),
            coalesce(transform(tails, one -> one.log_end), array())
        ),
        one -> one > offset and one <= last_offset
    )))
"""
"""Where a slice is divided, for its parts to lie whole before or behind what it is compared with.

These are the gap of a log without records, and the ends of logs whose tails were truncated."""
_LAST = "coalesce(array_min(filter(starts, one -> one > offset)) - 1, last_offset)"
_IS_UNMATCHED = "coalesce(offset between unmatched_first and unmatched_last, false)"
_IS_ORDERED = "ordered_micros <= coalesce(deletion.at_micros, ordered_micros)"
_KEYS = (
    *DECIDED,
    "acks",
    "acknowledged_epoch",
    "broker",
    "known_by",
    "held_by",
    "truncated_to",
    "later_epoch",
    "later_start",
    "groups_missed",
    "permitted_by",
    "deletion",
    "created_at",
)


_IS_UNPLACED = "outcome = 'ok' and offset is null and acks = 'all'"
"""A duplicate is acknowledged without an offset."""
_GONE = "{records} records were acknowledged (acks=all) without an offset, and the log lacks them"
_UNPLACED = Cases(
    undecided("without an offset", f"{_GONE}; {PERMIT}", when="permit is not null"),
    violation("without an offset", _GONE),
    evidence="producer, records, permit",
    at="answered_micros",
)


def lost_record(trace: Trace) -> CheckOutcome:
    """An acknowledged record is not in the surviving log, nor deleted after every group had it.

    Causes: it was truncated (a later epoch started at or below its offset, or the leader that had
    acknowledged it truncated it); it expired unread (below the log start, and a group that reads
    the topic never had it, or no group reads it); it was deleted with its topic (acknowledged
    before the topic was created again); a fault truncated the log; unexplained. A record that
    was truncated first was not deleted. With acks=0 no record is acknowledged. A duplicate is
    acknowledged without an offset, and looked for by its value.

    Permitted: truncated, by an election between the acknowledgement and the later epoch that
        permits the loss (`analysis.facts.elections`), or with acks=1; expired, by
        retention, by the plan or by an order of the run; deleted with its topic; truncated by a
        fault. The finding names the event.
    Undecided: an election in between is not known; records of a replica were not decoded; the old
        topic, or with acks=1 a deposed leader, may have acknowledged; a record without an offset,
        and an event since that permits a loss.
    Evaluates: every acknowledged record.
    Source: Kafka's documentation, Replication; KIP-101; KIP-966.
    """
    judged = _judged(trace)
    found = spans(
        trace,
        judged,
        *_LOG,
        *_KEYS,
        at=F.min("answered_micros"),
        producer=F.min("producer"),
        truncated_micros=F.min("truncated_micros"),
    )
    totals = (*_LOG, "verdict", "acks", "kind", "later_epoch", "later_start")
    unplaced = slices.unacknowledged(trace).where(_IS_UNPLACED)
    acknowledged = acknowledged_sends(trace).select("records").union(unplaced.select("records"))
    return CheckOutcome(
        findings(found, _NOT_SURVIVING).unionByName(
            findings(_unplaced(unplaced, trace), _UNPLACED)
        ),
        count_records(acknowledged),
        Totals(found.select(*totals, "records"), summary_of_losses),
    )


def _unplaced(sent: Frame, trace: Trace) -> Frame:
    """What the log lacks of it, by producer, with the first event since that permits a loss."""
    gone = (
        sent.join(slices.surviving(trace), on=[*_LOG, "value"], how="left_anti")
        .groupBy(*_LOG, "producer")
        .agg(F.min("answered_micros").alias("answered_micros"), F.sum("records").alias("records"))
    )
    return (
        gone.join(permits(trace).withColumnRenamed("at_micros", "_at"), on=list(_LOG), how="left")
        .withColumn(
            "permit",
            F.expr(
                f"if(_at + {trace.clock_micros} >= answered_micros,"
                " struct(_at as at_micros, cause, number, words), null)"
            ),
        )
        .groupBy(*gone.columns)
        .agg(F.min("permit").alias("permit"))
    )


def _judged(trace: Trace) -> Frame:
    """Lost records, by their cases."""
    clock = trace.clock_micros
    # Below the log start a record is missing anyway: an assumed epoch must be certain.
    is_sure = (
        "coalesce(offset >= log_start, true) or known_by != 'guess'"
        f" or answered_micros + {clock} < until_micros"
    )
    then = f"array_max(filter(timeline, one -> one.from_micros <= truncated_micros + {clock}))"
    later = took_over("acknowledged_epoch", "offset")
    events = (
        with_timelines(_with_readers(lost(trace), trace), trace)
        .withColumn("later", F.expr(f"if({is_sure}, {later}, null)"))
        .withColumn("truncated_to", F.expr(f"if({_MAY_BE_TRUNCATED}, truncated_to, null)"))
        .withColumn("_to", F.expr(f"coalesce(later.leader_epoch, {then}.leader_epoch)"))
    )
    events = with_permit(events, trace, after="acknowledged_epoch", to="_to", offset="offset")
    events = with_deletion(events, trace, offset="offset")
    again = creations(trace).where("is_last and creation > 0")
    events = (
        events.join(trace.topics, on="topic", how="left")
        .join(again.select(*_LOG, "created_micros", "created_at"), [*_LOG], how="left")
        .join(deletion_orders(trace), on="topic", how="left")
        .join(logs_without_records(trace), on=list(_LOG), how="left")
        .crossJoin(tails_cut(trace))
        .withColumn("starts", F.expr(_STARTS))
        .withColumn("offset", F.explode("starts"))
        .withColumn("last_offset", F.expr(_LAST))
        .withColumn("is_tail", F.expr(_IS_TAIL.format(clock=clock)))
        .withColumn("is_ordered", F.expr(_IS_ORDERED))
        .withColumn("is_of_old_topic", F.expr(f"answered_micros <= created_micros + {clock}"))
        .withColumn("is_maybe_older", F.expr(_IS_MAYBE_OLDER))
        .withColumn("missed", F.expr("subscribed - groups_had"))
        .withColumn("is_unmatched", F.expr(_IS_UNMATCHED))
    )
    return decided(events, _NOT_SURVIVING).selectExpr(
        *_LOG,
        "offset",
        "last_offset",
        *DECIDED,
        "acks",
        "acknowledged_epoch",
        "acknowledged_by as broker",
        "known_by",
        "held_by",
        "truncated_to",
        "later.leader_epoch as later_epoch",
        "later.start_high as later_start",
        "if(kind = 'expired_unread', missed, null) as groups_missed",
        "if(kind = 'truncated', permit, null) as permitted_by",
        "if(kind = 'expired_unread', deletion, null) as deletion",
        "if(kind = 'deleted with its topic', created_at, null) as created_at",
        "producer",
        "answered_micros",
        "truncated_micros",
    )


def _with_readers(gone: Frame, trace: Trace) -> Frame:
    """Add groups_had: of what was deleted, how many of the plan's groups had the record."""
    deleted = gone.where("offset < log_start")
    planned = trace.groups.select("group")
    had = (
        slices.polls(trace)
        .join(planned, on="group", how="left_semi")
        .join(deleted, on=[*_LOG, "value"], how="left_semi")
        .groupBy(*_LOG, "value")
        .agg(F.count_distinct("group").alias("groups_had"))
    )
    return gone.join(had, on=[*_LOG, "value"], how="left").withColumn(
        "groups_had", F.coalesce("groups_had", F.lit(0))
    )


CHECKS = (
    CheckDefinition(
        "A1",
        lost_record,
        needs=("sends", "log_starts", "epoch_checkpoints", "leaderships"),
        cases=(*_NOT_SURVIVING, *_UNPLACED),
    ),
)
