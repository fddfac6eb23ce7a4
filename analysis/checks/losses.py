"""Acknowledged records that are not in the surviving log, and the events that removed them."""

from analysis.checks.base import (
    CheckDefinition,
    CheckOutcome,
    Totals,
    count_records,
    findings,
    spans,
)
from analysis.checks.summaries import summary_of_losses
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.acknowledgements import lost
from analysis.facts.creations import creations
from analysis.facts.deletions import deletion_in_words, with_deletion
from analysis.facts.deliveries import acknowledged_sends
from analysis.facts.elections import (
    permit_in_words,
    tails_cut,
    took_over,
    with_permit,
    with_timelines,
)
from analysis.facts.leader_epochs import HEARD_SECONDS
from analysis.facts.trace import Trace
from analysis.facts.unmatched import logs_without_records
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_HEARD_MICROS = HEARD_SECONDS * MICROS_PER_SECOND
_CAUSE = """
    case
        when answered_micros <= created_micros + {clock} then 'deleted with its topic'
        when later is not null or truncated_to is not null then 'truncated'
        when is_tail then 'tail truncated'
        when offset < log_start and subscribed > 0 and missed <= 0 then 'expired'
        when offset < log_start then 'expired_unread'
        else 'unexplained'
    end
"""
_VERDICT = """
    case
        when cause in ('deleted with its topic', 'tail truncated') then 'permitted'
        when cause = 'truncated' then case
            when permit is not null or acks != 'all' then 'permitted'
            when is_unreported then 'undecided'
            else 'violation'
        end
        when cause = 'expired_unread' then
            if(retention_ms is not null or deletes or is_ordered, 'permitted', 'violation')
        when answered_micros <= created_micros + {heard} or is_maybe_older then 'undecided'
        else 'violation'
    end
"""
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
_IS_MAYBE_OLDER = """
    known_by = 'guess' and acks != 'all'
    and exists(timeline, one -> one.leader_epoch = acknowledged_epoch and one.leader_epoch > 0
        and coalesce(one.start_low, 0) <= offset)
"""
"""A leader that was deposed may have acknowledged, and then truncated them."""
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
_IS_UNMATCHED = (
    "verdict = 'violation' and coalesce(offset between unmatched_first and unmatched_last, false)"
)
_IS_ORDERED = "ordered_micros <= coalesce(deletion.at_micros, ordered_micros)"
_KEYS = (
    "cause",
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
    "is_unmatched",
    "verdict",
)
_EVIDENCE = (
    "records",
    "acks",
    "acknowledged_epoch",
    "broker",
    "known_by",
    "held_by",
    "producer",
    "truncated_to",
    "truncated_micros",
    "later_epoch",
    "later_start",
    "groups_missed",
    "permitted_by",
    "deletion",
)


def lost_record(trace: Trace) -> CheckOutcome:
    """An acknowledged record is not in the surviving log, nor deleted after every group had it.

    Causes: it was truncated (a later epoch started at or below its offset, or the leader that had
    acknowledged it truncated it); it expired unread (below the log start, and a group that reads
    the topic never had it, or no group reads it); it was deleted with its topic (acknowledged
    before the topic was created again); a fault truncated the log; unexplained. A record that
    was truncated first was not deleted.

    Permitted: truncated, by an election between the acknowledgement and the later epoch that
        permits the loss (`analysis.facts.elections`), or with acks=0 or acks=1; expired, by
        retention, by the plan or by an order of the run; deleted with its topic; truncated by a
        fault. The finding names the event.
    Undecided: an election in between is not known; records of a replica were not decoded; the old
        topic, or with acks=0 or acks=1 a deposed leader, may have acknowledged.
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
    reported = findings(
        found,
        evidence=_EVIDENCE,
        kind=F.col("cause"),
        verdict=F.col("verdict"),
        cause=_in_words(),
    )
    totals = (*_LOG, "verdict", "acks", "cause", "later_epoch", "later_start")
    return CheckOutcome(
        reported,
        count_records(acknowledged_sends(trace)),
        Totals(found.select(*totals, "records"), summary_of_losses),
    )


def _judged(trace: Trace) -> Frame:
    """Lost records with their cause and verdict; without those that expired after all had them."""
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
    permitted = with_permit(events, trace, after="acknowledged_epoch", to="_to", offset="offset")
    permitted = with_deletion(permitted, trace, offset="offset")
    again = creations(trace).where("is_last and creation > 0")
    return (
        permitted.join(trace.topics, on="topic", how="left")
        .join(again.select(*_LOG, "created_micros", "created_at"), [*_LOG], how="left")
        .join(_orders(trace), on="topic", how="left")
        .join(logs_without_records(trace), on=list(_LOG), how="left")
        .crossJoin(tails_cut(trace))
        .withColumn("starts", F.expr(_STARTS))
        .withColumn("offset", F.explode("starts"))
        .withColumn("last_offset", F.expr(_LAST))
        .withColumn("is_tail", F.expr(_IS_TAIL.format(clock=clock)))
        .withColumn("is_ordered", F.expr(_IS_ORDERED))
        .withColumn("is_maybe_older", F.expr(_IS_MAYBE_OLDER))
        .withColumn("missed", F.expr("subscribed - groups_had"))
        .withColumn("cause", F.expr(_CAUSE.format(clock=clock)))
        .where("cause != 'expired'")
        .withColumn("verdict", F.expr(_VERDICT.format(heard=_HEARD_MICROS)))
        .withColumn("is_unmatched", F.expr(_IS_UNMATCHED))
        .selectExpr(
            *_LOG,
            "offset",
            "last_offset",
            "cause",
            "acks",
            "acknowledged_epoch",
            "acknowledged_by as broker",
            "known_by",
            "held_by",
            "truncated_to",
            "later.leader_epoch as later_epoch",
            "later.start_high as later_start",
            "if(cause = 'expired_unread', missed, null) as groups_missed",
            "if(cause = 'truncated', permit, null) as permitted_by",
            "if(cause = 'expired_unread', deletion, null) as deletion",
            "if(cause = 'deleted with its topic', created_at, null) as created_at",
            "is_unmatched",
            "if(is_unmatched, 'undecided', verdict) as verdict",
            "producer",
            "answered_micros",
            "truncated_micros",
        )
    )


def _orders(trace: Trace) -> Frame:
    """(topic, ordered_micros): when the run first had records of a topic deleted."""
    ordered = trace["faults"].where("fault like 'expire by %' and target like 'topic:%'")
    return ordered.groupBy(F.expr("replace(target, 'topic:') as topic")).agg(
        F.min("injected_micros").alias("ordered_micros")
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


def _in_words() -> Column:
    guess = F.when(
        F.col("known_by") == "guess", F.lit(" (assumed: the epoch at that time)")
    ).otherwise("")
    truncated = F.when(
        F.col("truncated_to").isNotNull(),
        F.format_string(" when broker %s truncated its log to %s", "broker", "truncated_to"),
    ).otherwise("")
    permit = F.when(
        F.col("permitted_by").isNotNull(),
        F.concat(F.lit("; "), permit_in_words("permitted_by")),
    ).otherwise(
        F.when(
            F.expr("cause = 'truncated' and acks != 'all'"),
            F.format_string("; acks=%s does not wait for replication", "acks"),
        ).otherwise("")
    )
    again = F.when(
        F.col("created_at").isNotNull(),
        F.format_string(", created again at metadata offset %s", "created_at"),
    ).otherwise("")
    doubt = F.when(F.col("is_unmatched"), "; not all records of this log were decoded")
    reported = F.format_string(
        "%s records acknowledged (acks=%s) under epoch %s%s: %s",
        "records",
        "acks",
        "acknowledged_epoch",
        guess,
        "cause",
    )
    return F.concat(reported, truncated, permit, deletion_in_words(), again, doubt.otherwise(""))


CHECKS = (
    CheckDefinition(
        "A1", lost_record, needs=("sends", "log_starts", "epoch_checkpoints", "leaderships")
    ),
)
