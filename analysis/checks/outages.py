"""Waits in a row as one outage, and how much of it the cluster's own state excuses."""

from typing import Any

from analysis.checks.base import CheckOutcome, Totals
from analysis.checks.cases import Cases, findings, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.leader_epochs import states
from analysis.facts.sessions import OUTAGE_SECONDS
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

OWED_SECONDS = 30
"""A partition that could be served has to be, after so long."""

RETRY_SECONDS = 10
"""A longer pause between two attempts shows nothing about a partition's service."""

_LOG = ("topic", "partition")
_without_service = fact_named("service_gaps")


def owed_seconds(trace: Trace) -> float:
    """OWED_SECONDS, and by how much a clock was set that may have measured the time."""
    return OWED_SECONDS + trace.jump_micros / MICROS_PER_SECOND


def outages(waits: Frame, *keys: str, answers: Frame | None = None) -> Frame:
    """Waits of OUTAGE_SECONDS or more, those that overlap as one.

    Waits that follow each other within RETRY_SECONDS are one, too, if no request was answered from
    when the last of them began until the next one did: each attempt ends by its own timeout, the
    outage by an answer.

    Args:
        waits: with the keys, at, ended (microseconds), records (how many operations waited so) and
            unanswered (how many of them got no answer).
        keys: what an outage is of.
        answers: with the keys, began_micros and answered_micros of what was answered; None where
            every wait ended with an answer.

    Returns:
        The keys, at, ended, records (how many waited), unanswered (how many of them in vain).
    """
    order = Window.partitionBy(*keys).orderBy("at", "ended")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    in_turn = (
        waits.where(F.col("ended") - F.col("at") >= OUTAGE_SECONDS * MICROS_PER_SECOND)
        .withColumn("_since", F.max("at").over(before))
        .withColumn("_until", F.max("ended").over(before))
    )
    is_first = F.coalesce(F.col("at") > F.col("_until"), F.expr("true"))
    if answers is not None:
        in_turn = in_turn.join(
            _unanswered_between(in_turn, answers, *keys), on=[*keys, "_since", "at"], how="left"
        )
        is_first &= F.col("_is_retry").isNull()
    return (
        in_turn.withColumn("_outage", F.sum(is_first.cast("int")).over(order))
        .groupBy(*keys, "_outage")
        .agg(
            F.min("at").alias("at"),
            F.max("ended").alias("ended"),
            F.sum("records").alias("records"),
            F.sum("unanswered").alias("unanswered"),
        )
        .drop("_outage")
    )


def _unanswered_between(in_turn: Frame, answers: Frame, *keys: str) -> Frame:
    """(keys, _since, at, _is_retry): pauses between two waits in which no request was answered."""
    pause = (*keys, "_since", "at")
    pauses = (
        in_turn.where("at > _until")
        .where(F.col("at") - F.col("_until") <= RETRY_SECONDS * MICROS_PER_SECOND)
        .groupBy(*pause)
        .agg(F.max("_until").alias("_until"))
    )
    answered = (
        answers.join(pauses, on=list(keys), how="inner")
        .where("answered_micros <= at and (began_micros >= _since or answered_micros >= _until)")
        .select(*pause)
        .distinct()
    )
    return (
        pauses.join(answered, on=list(pause), how="left_anti")
        .select(*pause)
        .withColumn("_is_retry", F.lit(1))
    )


UNAVAILABLE = Cases(
    violation(
        "unavailable",
        "{records} operations waited for {seconds:.1f} s in total; no service was possible for"
        " {unservable_seconds:.1f} s of it",
        permitted_if="seconds - unservable_seconds <= owed_seconds",
    ),
    evidence="records, unanswered, seconds, unservable_seconds, recovery_seconds, needs_insync",
)


def unavailable(
    trace: Trace,
    found: Frame,
    *keys: str,
    judged: Frame,
    min_insync: Frame,
    doubts: Frame | None = None,
) -> CheckOutcome:
    """Outages of partitions as findings: a violation if it could serve for more than OWED_SECONDS.

    A partition could not serve while, by the metadata log, it had no leader; while the brokers that
    no fault held were no majority; and while clients could reach no broker. A service that
    `needs_insync` was not possible either while the ISR is smaller than `min.insync.replicas`, or
    than the replica count where that is less: then the high watermark does not advance
    (KAFKA-15583). `recovery_seconds` is what passed from when it could be served until it was.

    Args:
        trace: whose.
        found: as of `outages`; topic and partition are those that the service needs.
        keys: of the outages: topic, partition and needs_insync among them.
        judged: how much could have waited, as one row named `evaluated`.
        min_insync: (topic, min_insync), of topics that the outages are of.
        doubts: (keys, since, until, is_unknown): when what the outages waited for was not known to
            be below the high watermark; if it is unknown, it is excused only by a small ISR.
    """
    found = trace.engine.materialized(found)
    unservable = _unservable(trace, min_insync)
    excuses = (
        found.join(unservable, on=list(_LOG), how="inner")
        .where("needs_insync or not is_small")
        .drop("is_small")
        .unionByName(found.crossJoin(_without_service(trace)))
    )
    if doubts is not None:
        excuses = excuses.unionByName(
            found.join(_excused(doubts, unservable, *keys), on=list(keys), how="inner")
        )
    excuses = (
        excuses.withColumn("_first", F.greatest("at", "since"))
        .withColumn("_last", F.least("ended", F.coalesce("until", "ended")))
        .where("_last > _first")
    )
    outage = (*keys, "at", "ended")
    before = (
        Window.partitionBy(*outage)
        .orderBy("_first", "_last")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    excused = (
        excuses.withColumn("_begins", F.greatest("_first", F.max("_last").over(before)))
        .groupBy(*outage)
        .agg(
            F.sum(F.expr("greatest(_last - _begins, 0)")).alias("excused"),
            F.max("_last").alias("servable"),
        )
    )
    reported = trace.engine.materialized(
        found.join(excused, on=list(outage), how="left")
        .withColumn("excused", F.coalesce("excused", F.lit(0)))
        .select(
            *keys,
            "at",
            "records",
            "unanswered",
            ((F.col("ended") - F.col("at")) / MICROS_PER_SECOND).alias("seconds"),
            (F.col("excused") / MICROS_PER_SECOND).alias("unservable_seconds"),
            ((F.col("ended") - F.coalesce("servable", "at")) / MICROS_PER_SECOND).alias(
                "recovery_seconds"
            ),
            F.lit(owed_seconds(trace)).alias("owed_seconds"),
        )
    )
    return CheckOutcome(
        findings(reported, UNAVAILABLE),
        judged,
        Totals(reported.select(*_LOG, "seconds", "records"), _summary),
    )


def _excused(doubts: Frame, unservable: Frame, *keys: str) -> Frame:
    """(keys, since, until): the doubts, and of what is unknown the part with a small ISR."""
    small = unservable.where("is_small").selectExpr(
        *_LOG, "since as small_since", "until as small_until"
    )
    in_part = (
        doubts.where("is_unknown")
        .join(small, on=list(_LOG), how="inner")
        .withColumn("since", F.greatest("since", "small_since"))
        .withColumn("until", F.least("until", "small_until"))
    )
    reported = (*keys, "since", "until")
    return doubts.where("not is_unknown").select(*reported).unionByName(in_part.select(*reported))


def _unservable(trace: Trace, min_insync: Frame) -> Frame:
    """(topic, partition, since, until, is_small): no leader, or the ISR is too small.

    `until` is null where it lasts to the end.
    """
    is_small = "size(isr) < least(coalesce(min_insync, 1), size(replicas))"
    return (
        states(trace)
        .join(min_insync, on="topic", how="left")
        .selectExpr(
            *_LOG,
            "at_micros as since",
            "until_micros as until",
            "leader >= 0 as is_small",
            f"leader < 0 or {is_small} as _is_poor",
        )
        .where("_is_poor")
        .drop("_is_poor")
    )


def _summary(rows: list[dict[str, Any]]) -> str:
    """Such as `4 outages, the longest 6.4 s on orders-0; 1,210 operations waited`."""
    longest = max(rows, key=lambda row: row["seconds"])
    return (
        f"{len(rows)} outages, the longest {longest['seconds']:.1f} s on "
        f"{longest['topic']}-{longest['partition']}; "
        f"{sum(row['records'] for row in rows):,} operations waited"
    )
