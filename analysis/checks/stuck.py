"""Members, producers and replicas that did not progress, although no fault held any more."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, violation
from analysis.checks.outages import OWED_SECONDS, owed_seconds
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import sends
from analysis.facts.faults import held_faults
from analysis.facts.positions import administered
from analysis.facts.topics import changes
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import committed_readers
from analysis.facts.transactions import stalls_at_transactions, writes
from contract.stages import Stage
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_IS_HELD = "injected_micros <= at and coalesce(ended_micros > at, true)"
_SESSION_SECONDS = 45
"""The default of session.timeout.ms: so long the group waits for a member that was killed."""
_RECOVERY = f"if(partition < 0, {_SESSION_SECONDS}, {OWED_SECONDS}) * {MICROS_PER_SECOND}"
"""What Kafka's own limits allow a member after a change that took an instant, in microseconds."""

_IS_EXCUSED = "kind != 'no fault'"
_STOPPED = "the member stopped at {position}; the log ends at {log_end}"
_STALLED = Cases(
    violation(
        "{kind}",
        "the member was assigned no partition",
        when="partition < 0",
        permitted_if=_IS_EXCUSED,
    ),
    violation(
        "{kind}",
        "the member had no position to read from",
        when="position is null",
        permitted_if=_IS_EXCUSED,
    ),
    permitted(
        "at an epoch of an administrator",
        "the member stopped at {position}, which an administrator had set with epoch {set_epoch};"
        " no leader had that epoch",
    ),
    permitted(
        "at an open transaction",
        "the member stopped at {position}; the transaction that began at {open_at} was open; the"
        " log ends at {log_end}",
    ),
    permitted("while a fault held", _STOPPED),
    permitted("soon after a fault", _STOPPED),
    violation("no fault", _STOPPED, undecided_if="not is_owed"),
    evidence="member, position, log_end, open_at, set_epoch",
    offset_first="position",
    at="at_micros",
)


def stuck_consumer(trace: Trace) -> CheckOutcome:
    """A member polled and did not reach the log end before the timeout of its command.

    Of its partitions, those count where a record lay at its position or above that it was to be
    delivered: below the high watermark that the leader reported last, or delivered to another group
    or acknowledged with acks=all by then; for a read_committed group of no aborted transaction. A
    fault that takes an instant, such as an election or a rebalance, is over when it is proved.

    Permitted: a fault held at the timeout; or one that takes an instant was over for no more than
        30 s, or 45 s for a member without a partition; or a transaction was open at the member's
        position, and the group has `isolation.level=read_committed` (`hanging_transaction`
        evaluates how long a transaction stays open); or an administrator had set the position with
        an epoch that no leader had.
    Undecided: no leader reported a high watermark, and nothing else proves that the record was
        below it.
    Evaluates: each read to the log end, which ends as caught_up, stalled or failed.
    Source: KIP-98: read_committed ends at the last stable offset; KIP-320; `request.timeout.ms`;
        `session.timeout.ms`.
    """
    reported = trace["group_events"].where("change in ('caught_up', 'stalled', 'failed')")
    stalls = trace.engine.materialized(
        reported.where("change = 'stalled'").withColumn("at", F.col("at_micros"))
    )
    moment = ["group", *_LOG, "position", "at_micros"]
    is_recent = f"is_instant and ended_micros <= at and ended_micros + {_RECOVERY} >= at"
    excuses = (
        stalls.select("member", *_LOG, "seq", "at")
        .join(held_faults(trace), on=F.expr("injected_micros <= at"), how="inner")
        .groupBy("member", *_LOG, "seq")
        .agg(
            F.expr(f"max({_IS_HELD})").alias("is_held"),
            F.expr(f"max({is_recent})").alias("is_recent"),
        )
    )
    found = (
        stalls.join(excuses, on=["member", *_LOG, "seq"], how="left")
        .join(stalls_at_transactions(trace), on=moment, how="left")
        .join(_owed(stalls, trace), on=moment, how="left")
        .join(_set_ahead(stalls, trace), on=["member", *_LOG, "seq"], how="left")
        .where("position is null or open_at is not null or is_owed is not null")
        .withColumn(
            "kind",
            F.expr(
                "case when is_held then 'while a fault held'"
                " when open_at is not null then 'at an open transaction'"
                " when set_epoch is not null then 'at an epoch of an administrator'"
                " when is_recent then 'soon after a fault' else 'no fault' end"
            ),
        )
        .join(trace.log_bounds.select(*_LOG, "log_end"), on=list(_LOG), how="left")
    )
    return CheckOutcome(findings(found, _STALLED), count(reported))


def _set_ahead(stalls: Frame, trace: Trace) -> Frame:
    """(member, topic, partition, seq, set_epoch): stalls where an administrator set the group.

    To an epoch that no leader had yet: a client waits for metadata of it (KIP-320).
    """
    led = trace["leaderships"].select(*_LOG, "leader_epoch", F.col("at_micros").alias("_led"))
    return (
        stalls.select("group", "member", *_LOG, "seq", "position", "at")
        .join(administered(trace), on=["group", *_LOG], how="inner")
        .where("committed_micros <= at and coalesce(position = offset, true)")
        .join(led, on=list(_LOG), how="inner")
        .where("_led <= at")
        .groupBy("member", *_LOG, "seq", "committed_epoch")
        .agg(F.max("leader_epoch").alias("_newest"))
        .where("committed_epoch > _newest")
        .groupBy("member", *_LOG, "seq")
        .agg(F.max("committed_epoch").alias("set_epoch"))
    )


def _owed(stalls: Frame, trace: Trace) -> Frame:
    """(group, topic, partition, position, at_micros, is_owed): stalls below records of the log.

    is_owed is false where nothing shows whether the record was below the high watermark.
    """
    moment = ("group", *_LOG, "position", "at_micros")
    asked = trace.engine.materialized(
        stalls.where("position is not null").select(*moment).distinct()
    )
    if asked.isEmpty():
        return asked.withColumn("is_owed", F.expr("true"))
    reported = (
        trace["samples"]
        .where("broker = leader")
        .select(*_LOG, "leader_epoch", "log_end_offset", F.col("at_micros").alias("_at"))
        .join(asked, on=list(_LOG), how="inner")
        .where("_at <= at_micros")
        .groupBy(*moment)
        .agg(F.max_by("log_end_offset", F.struct("leader_epoch", "_at")).alias("high_watermark"))
    )
    record = (*_LOG, "offset", "value")
    acknowledged = slices.acknowledged(trace).select(
        *record, "acks", "intended_micros", "answered_micros"
    )
    seen = slices.polls(trace).groupBy(*record).agg(F.min("polled_micros").alias("polled_micros"))
    not_committed = (
        writes(trace)
        .where("ended_as != 'committed'")
        .join(committed_readers(trace), on="topic", how="inner")
        .select("group", *_LOG, "value")
        .distinct()
    )
    was_below = (
        "offset < high_watermark or is_kept and"
        " (polled_micros <= at_micros or acks = 'all' and answered_micros <= at_micros)"
    )
    may_be_below = (
        "is_kept and high_watermark is null and coalesce(intended_micros <= at_micros, true)"
    )
    return (
        slices.surviving(trace)
        .select(*record, F.expr("true").alias("is_kept"))
        .unionByName(acknowledged.select(*record, F.expr("false").alias("is_kept")))
        .join(asked, on=list(_LOG), how="inner")
        .where("offset >= position")
        .join(not_committed, on=["group", *_LOG, "value"], how="left_anti")
        .join(acknowledged, on=list(record), how="left")
        .join(seen, on=list(record), how="left")
        .join(reported, on=list(moment), how="left")
        .selectExpr(
            *moment, f"coalesce({was_below}, false) as is_owed", f"{may_be_below} as is_possible"
        )
        .where("is_owed or is_possible")
        .groupBy(*moment)
        .agg(F.max("is_owed").alias("is_owed"))
    )


_LAST_VALUES = (
    "the last {records} values of {producer} were not acknowledged, over {seconds:.1f} s;"
    " {unanswered} received no answer"
)
_UNACKNOWLEDGED = Cases(
    permitted("while a fault held", _LAST_VALUES, when="faults > 0"),
    violation("no fault", _LAST_VALUES, when="seconds >= owed_seconds"),
    permitted("its worker was killed", _LAST_VALUES, when="not ended_by_itself"),
    violation("no answer", _LAST_VALUES, undecided_if="ended_by_itself is null or has_failed"),
    evidence="producer, records, unanswered, seconds, error, ended_by_itself",
)


def stuck_producer(trace: Trace) -> CheckOutcome:
    """The last values of a producer to a partition all failed for 30 s or more, or got no response.

    Transactional producers are left out: a fenced one must not make progress.

    Permitted: a fault held when the last of these values failed; or they got no response for less
        than 30 s, and the worker was killed.
    Undecided: they got no response for less than 30 s, and no source reports how the worker ended,
        or the scenario failed.
    Evaluates: each producer and partition.
    Source: `delivery.timeout.ms`; `KafkaProducer.close`, `ProducerBatch.done`: each send is
        completed.
    """
    key = ("producer", *_LOG)
    intended = sends(trace).where("intended_micros is not null and transaction is null")
    last_ok = F.expr("max(if(outcome = 'ok', intended_micros, null)) as last_ok")
    ends = trace.engine.materialized(
        intended.groupBy(*key).agg(last_ok, F.max("intended_micros").alias("last"))
    )
    behind = ends.where("last_ok is null or last_ok < last").drop("last")
    reported = ("since", "at", "records", "unanswered", "error", "ended_by_itself", "seconds")
    ended = trace.present("histories").groupBy("worker").agg(F.min("ended_by_itself").alias("_end"))
    stuck = (
        intended.join(behind, on=list(key), how="inner")
        .where("outcome != 'ok' and (last_ok is null or intended_micros > last_ok)")
        .join(ended, on="worker", how="left")
        .groupBy(*key)
        .agg(
            F.min("intended_micros").alias("since"),
            F.max(F.greatest("intended_micros", "answered_micros")).alias("at"),
            F.sum("records").alias("records"),
            F.expr("sum(if(answered_micros is null, records, 0)) as unanswered"),
            F.max("error").alias("error"),
            F.min("_end").alias("ended_by_itself"),
        )
        .withColumn("seconds", (F.col("at") - F.col("since")) / MICROS_PER_SECOND)
        .where(f"seconds >= {OWED_SECONDS} or unanswered > 0")
        .join(
            held_faults(trace).select("injected_micros", "ended_micros"),
            on=F.expr(_IS_HELD),
            how="left",
        )
        .groupBy(*key, *reported)
        .agg(
            F.count("injected_micros").alias("faults"),
            F.lit(trace.run.error is not None).alias("has_failed"),
            F.lit(owed_seconds(trace)).alias("owed_seconds"),
        )
    )
    return CheckOutcome(findings(stuck, _UNACKNOWLEDGED), count(ends))


_OUT = (
    "broker {broker} was not in the ISR {to_json(isr)} at the end, {seconds:.1f} s after it could"
    " return"
)
_OUT_OF_ISR = Cases(
    permitted("fenced", _OUT, when="is_fenced"),
    violation(
        "in service",
        _OUT,
        permitted_if="holding > 0 or seconds <= owed_seconds",
        undecided_if="is_fenced is null",
    ),
    evidence="broker, isr, is_fenced, holding, seconds",
    at="since",
)


def never_caught_up(trace: Trace) -> CheckOutcome:
    """A replica of a partition with a leader is out of the ISR when collecting begins.

    Permitted: its broker is fenced; a fault holds; or 30 s or less have passed since the replica
        was added or left the ISR, its broker came into service and the last fault was healed.
    Undecided: the metadata log has no state of its broker.
    Evaluates: every replica of a partition with a leader.
    Source: `replica.lag.time.max.ms`.
    """
    last = (
        trace["leaderships"]
        .groupBy(*_LOG)
        .agg(F.max_by(F.struct("leader", "isr", "replicas"), "metadata_offset").alias("last"))
        .where("last.leader >= 0")
        .select(*_LOG, "last.isr", F.explode("last.replicas").alias("broker"))
    )
    out = last.where("not array_contains(isr, broker)")
    has_left = "array_contains(was.isr, broker) and not array_contains(isr, broker)"
    is_added = "not array_contains(was.replicas, broker) and array_contains(replicas, broker)"
    left = (
        changes(trace)
        .select(*_LOG, "isr", "replicas", "was", "at_micros")
        .join(out.select(*_LOG, "broker"), on=list(_LOG), how="inner")
        .groupBy(*_LOG, "broker")
        .agg(
            F.max(F.expr(f"if({has_left} or {is_added}, at_micros, null)")).alias("left"),
            F.min("at_micros").alias("created"),
        )
        .selectExpr(*_LOG, "broker", "coalesce(left, created) as since")
    )
    states = (
        trace["broker_states"]
        .groupBy("broker")
        .agg(
            F.max_by("is_fenced", "metadata_offset").alias("is_fenced"),
            F.max("at_micros").alias("changed_micros"),
        )
    )
    healed = held_faults(trace).agg(
        F.max("ended_micros").alias("healed"),
        F.count_if(F.col("ended_micros").isNull()).alias("holding"),
    )
    reported = (
        out.join(left, on=[*_LOG, "broker"], how="inner")
        .join(states, on="broker", how="left")
        .crossJoin(healed)
        .crossJoin(_end(trace))
        .withColumn("owed_seconds", F.lit(owed_seconds(trace)))
        .withColumn(
            "seconds",
            F.greatest(F.lit(0), F.col("end") - F.greatest("since", "changed_micros", "healed"))
            / MICROS_PER_SECOND,
        )
    )
    return CheckOutcome(findings(reported, _OUT_OF_ISR), count(last))


def _end(trace: Trace) -> Frame:
    """(end): when collecting began, or else the run ended."""
    ended = F.lit(trace.run.ended_micros or trace.run.started_micros)
    return (
        trace["phases"]
        .where(F.col("stage") == str(Stage.COLLECTING))
        .agg(F.coalesce(F.min("began_micros"), ended).alias("end"))
    )


CHECKS = (
    CheckDefinition("H4", stuck_consumer, needs=("group_events",), cases=_STALLED),
    CheckDefinition("H5", stuck_producer, needs=("sends",), cases=_UNACKNOWLEDGED),
    CheckDefinition(
        "H6", never_caught_up, needs=("leaderships", "broker_states"), cases=_OUT_OF_ISR
    ),
)
