"""Which brokers may be in an ISR, and which may acknowledge."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, count_records, spans
from analysis.checks.cases import (
    DECIDED,
    Cases,
    by_election,
    decided,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.acknowledgements import lost, survived_late
from analysis.facts.deliveries import acknowledged_sends, deliveries
from analysis.facts.leader_epochs import leader_epochs
from analysis.facts.permits import with_permit
from analysis.facts.topics import created_once
from analysis.facts.trace import Trace
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")

_BARRED = Cases(
    violation(
        "fenced",
        "broker {broker} is in the ISR of metadata offset {metadata_offset}, although it was"
        " fenced",
    ),
    violation(
        "shutting down",
        "broker {broker} joined the ISR at metadata offset {metadata_offset} during its controlled"
        " shutdown",
    ),
    undecided(
        "unknown broker",
        "no registration of broker {broker} is known before metadata offset {metadata_offset}",
    ),
    evidence="broker, broker_epoch, isr, leader, leader_epoch, metadata_offset, fenced_micros",
    at="at_micros",
)


def fenced_in_isr(trace: Trace) -> CheckOutcome:
    """A partition's ISR has a fenced broker, or a broker joined it during a controlled shutdown.

    The state at the end of each metadata batch counts: the controller fences a broker and removes
    it from the ISRs in one batch. A broker in a controlled shutdown may remain the last member of
    an ISR. Partitions without a leader are left out.

    Undecided: the metadata log has no earlier registration of the broker.
    Evaluates: every change of a partition with a leader, at the end of its metadata batch.
    Source: KIP-841.
    """
    changes, states = _batch_ends(trace)
    members = changes.withColumn("broker", F.explode("isr"))
    known = members.join(states, on="broker", how="inner").where(
        "batch_end >= since_batch and (until_batch is null or batch_end < until_batch)"
    )
    key = (*_LOG, "metadata_offset", "broker")
    unreported = members.join(known.select(*key), on=list(key), how="left_anti").select(
        *members.columns,
        F.lit(None).cast("bigint").alias("broker_epoch"),
        F.lit(None).cast("bigint").alias("fenced_micros"),
        F.lit("unknown broker").alias("kind"),
    )
    joins = "since_batch < batch_end and not array_contains(isr_before, broker)"
    barred = known.withColumn(
        "kind",
        F.expr(
            "case when is_fenced then 'fenced'"
            f" when in_controlled_shutdown and {joins} then 'shutting down' end"
        ),
    ).where("kind is not null")
    barred = barred.select(*members.columns, "broker_epoch", "fenced_micros", "kind")
    return CheckOutcome(findings(barred.unionByName(unreported), _BARRED), count(changes))


def _batch_ends(trace: Trace) -> tuple[Frame, Frame]:
    """Partitions with a leader, and brokers, as they were at the end of each metadata batch.

    A batch is what was appended with one timestamp, in one piece of the log. The first frame is
    `leaderships` with batch_end, the metadata offset at which it ends, and isr_before, the ISR at
    the end of the batch that changed it last (null: none did); the second has broker, broker_epoch,
    is_fenced, in_controlled_shutdown, fenced_micros (since when it was in that state), and the
    batches from which and until which it was so.
    """
    leaderships, states = trace["leaderships"], trace["broker_states"]
    moment = ("metadata_offset", "at_micros")
    in_log = Window.orderBy("metadata_offset")
    is_new = F.coalesce(F.col("at_micros") != F.lag("at_micros").over(in_log), F.lit(1) == 1)
    ends = (
        leaderships.select(*moment)
        .union(states.select(*moment))
        .distinct()
        .withColumn("_is_new", is_new.cast("int"))
        .withColumn("_batch", F.sum("_is_new").over(in_log))
        .withColumn("batch_end", F.max("metadata_offset").over(Window.partitionBy("_batch")))
        .select("metadata_offset", "batch_end")
    )

    def last_of_batch(rows: Frame, *keys: str) -> Frame:
        order = Window.partitionBy(*keys, "batch_end").orderBy(F.desc("metadata_offset"))
        return (
            rows.join(ends, on="metadata_offset", how="inner")
            .withColumn("_rank", F.row_number().over(order))
            .where("_rank = 1")
            .drop("_rank")
        )

    of_broker = Window.partitionBy("broker").orderBy("batch_end")
    brokers = last_of_batch(states, "broker").select(
        "broker",
        "broker_epoch",
        "is_fenced",
        "in_controlled_shutdown",
        F.col("at_micros").alias("fenced_micros"),
        F.col("batch_end").alias("since_batch"),
        F.lead("batch_end").over(of_broker).alias("until_batch"),
    )
    of_partition = Window.partitionBy(*_LOG).orderBy("batch_end")
    changes = last_of_batch(leaderships, *_LOG).withColumn(
        "isr_before", F.lag("isr").over(of_partition)
    )
    return changes.where("leader >= 0"), brokers


_ZOMBIE = "accepted_by_zombie"
_IS_GUESS = "coalesce(known_by, 'guess') = 'guess'"
_LATE = (
    "{records} records were acknowledged (acks={acks}) by broker {broker} under epoch {epoch}, up"
    " to {seconds_after:.3f} s after epoch {newer_epoch} began"
)
_PROOF = (
    "{case known_by"
    " when 'truncation' then format_string('lost when it truncated its log to %s', truncated_to)"
    " when 'offset' then 'lost: their offsets hold other records'"
    " else 'they are not in the surviving log' end}"
)
_LOST = f"{_LATE}; {_PROOF}"
_ACCEPTED = Cases(
    permitted(_ZOMBIE, f"{_LATE}; the new leader has them", when="known_by = 'survived'"),
    undecided(
        _ZOMBIE,
        "{records} records were acknowledged (acks={acks}) after a leader change and then lost; the"
        " epoch of the acknowledgement is not known",
        when=f"{_IS_GUESS} and acks = 'all' and is_after_first and not is_below_log_start",
    ),
    permitted(
        _ZOMBIE, _LOST, when=f"not {_IS_GUESS} and acks != 'all' and is_after and not is_close"
    ),
    violation(
        _ZOMBIE,
        _LOST,
        when=f"not {_IS_GUESS} and acks = 'all' and is_after",
        undecided_if="is_close or is_below_log_start",
    ),
    evidence="records, acks, broker, epoch, newer_epoch, seconds_after, known_by,"
    " truncated_to, producer",
)


def served_under_fenced_epoch(trace: Trace) -> CheckOutcome:
    """A broker acknowledged or served a record under an epoch that was over by then.

    An epoch is over when the controller elects a leader under a newer one. A record is served under
    a fenced epoch if a consumer was delivered it later, and its offset is beyond the end of its
    epoch in the surviving log.

    Permitted: the record was acknowledged with acks=0 or acks=1, or the new leader has it: a leader
        learns of the election only later; or the record was served, and the election permits the
        loss.
    Undecided: the record was acknowledged with acks=all and is lost, and: it was acknowledged no
        more than the clock bound after the end of its epoch, or its offset is below the log start,
        or no source reports its epoch; or the record was served, and an election is not known.
    Evaluates: every acknowledged record.
    Source: AlterPartition needs the controller, so a deposed leader can't commit alone.
    """
    first_end = leader_epochs(trace).groupBy(*_LOG).agg(F.min("until_micros").alias("first_end"))
    clock = trace.clock_micros
    gone = (
        lost(trace)
        .where("answered_micros is not null")
        .join(first_end, on=list(_LOG), how="inner")
        .selectExpr(
            *_LOG,
            "offset",
            "last_offset",
            "acks",
            "producer",
            "answered_micros",
            "acknowledged_epoch as epoch",
            "acknowledged_by as broker",
            "newer_epoch",
            "until_micros",
            "known_by",
            "truncated_to",
            "coalesce(offset < log_start, false) as is_below_log_start",
            f"first_end <= answered_micros + {clock} as is_after_first",
            f"answered_micros >= until_micros - {clock} as is_after",
            f"answered_micros <= until_micros + {clock} as is_close",
        )
    )
    survived = survived_late(trace).withColumn("known_by", F.lit("survived"))
    found = spans(
        trace,
        decided(gone.unionByName(survived, allowMissingColumns=True), _ACCEPTED).selectExpr(
            *_LOG,
            "offset",
            "last_offset",
            "acks",
            "if(known_by = 'guess', null, epoch) as epoch",
            "if(known_by = 'guess', null, broker) as broker",
            "if(known_by = 'guess', null, newer_epoch) as newer_epoch",
            *DECIDED,
            "known_by",
            "truncated_to",
            "producer",
            "answered_micros",
            "if(known_by = 'guess', null, answered_micros - until_micros) as micros_after",
        ),
        *_LOG,
        "acks",
        "epoch",
        "broker",
        "newer_epoch",
        "known_by",
        "truncated_to",
        *DECIDED,
        at=F.min("answered_micros"),
        seconds_after=F.max("micros_after") / MICROS_PER_SECOND,
        producer=F.min("producer"),
    )
    accepted = findings(found, _ACCEPTED)
    return CheckOutcome(
        accepted.unionByName(_served_by_zombies(trace)), count_records(acknowledged_sends(trace))
    )


_SERVED = Cases(
    *by_election(
        "served_by_zombie",
        "{records} records were polled up to {seconds_after:.3f} s after epoch {leader_epoch} of"
        " broker {broker} had ended; the log has later epochs from offset {ends} on",
    ),
    evidence="records, leader_epoch, broker, ends, seconds_after, permit",
)


def _served_by_zombies(trace: Trace) -> Frame:
    """Findings of polled records of an epoch that was over, beyond where it ends in the log."""
    starts = trace.epoch_starts.select(*_LOG, F.explode("epochs").alias("next"))
    furthest = (
        deliveries(trace).groupBy(*_LOG, "leader_epoch").agg(F.max("last_offset").alias("furthest"))
    )
    beyond = (
        furthest.join(starts, on=list(_LOG), how="inner")
        .where("next.leader_epoch > leader_epoch")
        .groupBy(*_LOG, "leader_epoch", "furthest")
        .agg(
            F.min("next.start_offset").alias("ends"),
            F.min_by("next.leader_epoch", "next.start_offset").alias("next_epoch"),
        )
        .where("furthest >= ends")
        .join(created_once(trace), on=list(_LOG), how="left_semi")
        .join(
            leader_epochs(trace).withColumnRenamed("epoch", "leader_epoch"),
            on=[*_LOG, "leader_epoch"],
            how="inner",
        )
        .select(*_LOG, "leader_epoch", "ends", "next_epoch", "broker", "until_micros")
    )
    beyond = with_permit(beyond, trace, after="leader_epoch", to="next_epoch", offset="ends")
    served = (
        slices.polls(trace)
        .join(beyond, on=[*_LOG, "leader_epoch"], how="inner")
        .where(f"offset >= ends and polled_micros > until_micros + {trace.clock_micros}")
        .groupBy("group", *_LOG, "leader_epoch", "ends", "broker", "permit", "is_unreported")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("records"),
            F.min("polled_micros").alias("at"),
            (F.max(F.col("polled_micros") - F.col("until_micros")) / MICROS_PER_SECOND).alias(
                "seconds_after"
            ),
        )
    )
    return findings(served, _SERVED)


CHECKS = (
    CheckDefinition("G7", fenced_in_isr, needs=("leaderships", "broker_states"), cases=_BARRED),
    CheckDefinition(
        "G6",
        served_under_fenced_epoch,
        needs=("sends", "leaderships", "log_starts"),
        cases=(*_ACCEPTED, *_SERVED),
    ),
)
