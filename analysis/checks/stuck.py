"""Who never came to where it should (taxonomy H), although no fault held any more."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.checks.base import CheckOutcome, count, findings
from analysis.creations import changes
from analysis.load import IS_UNACKNOWLEDGED, Trace
from analysis.outages import OWED_SECONDS
from harness.contract.stages import Stage
from harness.contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_IS_HELD = "injected_micros <= at and (healed_micros is null or healed_micros > at)"


def stuck_consumer(trace: Trace) -> CheckOutcome:
    """A member polled, and did not come to the log end in the time that it was given.

    Progress is owed only where no fault holds: a stall that ended while one did is permitted.
    """
    told = trace["group_events"].where("change in ('caught_up', 'stalled', 'failed')")
    stalls = told.where("change = 'stalled'").join(
        F.broadcast(trace.log_bounds.select(*_LOG, "log_end")), on=list(_LOG), how="left"
    )
    held = F.broadcast(trace["faults"].select("injected_micros", "healed_micros"))
    is_held = (F.col("injected_micros") <= F.col("at_micros")) & (
        F.col("healed_micros").isNull() | (F.col("healed_micros") > F.col("at_micros"))
    )
    under_a_fault = stalls.join(held, on=is_held, how="left_semi")
    by_itself = stalls.join(held, on=is_held, how="left_anti")
    return CheckOutcome(
        _stalls(under_a_fault, "while a fault held", "permitted").union(
            _stalls(by_itself, "no fault", "violation")
        ),
        count(told),
    )


def _stalls(stalls: DataFrame, kind: str, verdict: str) -> DataFrame:
    return findings(
        stalls,
        evidence=("member", "position", "log_end"),
        kind=F.lit(kind),
        verdict=F.lit(verdict),
        offset_first=F.col("position"),
        at=F.col("at_micros"),
        cause=F.when(F.col("partition") < 0, F.lit("was assigned no partition"))
        .when(F.col("position").isNull(), F.lit("had no position to read from"))
        .otherwise(F.format_string("came to %s, the log ends at %s", "position", "log_end")),
    )


def stuck_producer(trace: Trace) -> CheckOutcome:
    """A producer whose last values to a partition all failed, for OWED_SECONDS or to its very end.

    Permitted where a fault held when the last of them was given up. A value that got no answer at
    all, which `delivery.timeout.ms` rules out, is undecided: its producer may have been killed.
    Transactional producers are not judged: one that is fenced is stuck by right.
    """
    key = ("producer", *_LOG)
    sends = closeup.sends(trace).where("intended_micros is not null and transaction is null")
    taken = closeup.in_brief(trace).where("intended_last is not null and transaction is null")
    others = sends.where(IS_UNACKNOWLEDGED).selectExpr(
        *key, "if(outcome = 'ok', intended_micros, null) as ok", "intended_micros as last"
    )
    ends = (
        taken.selectExpr(*key, "intended_last as ok", "intended_last as last")
        .union(others)
        .groupBy(*key)
        .agg(F.max("ok").alias("last_ok"), F.max("last").alias("last"))
    )
    ends = trace.materialized(ends, is_close=True)
    behind = ends.where("last_ok is null or last_ok < last").drop("last")
    stuck = trace.materialized(
        sends.join(F.broadcast(behind), on=list(key), how="inner")
        .where("outcome != 'ok' and (last_ok is null or intended_micros > last_ok)")
        .groupBy(*key)
        .agg(
            F.min("intended_micros").alias("since"),
            F.max(F.greatest("intended_micros", "answered_micros")).alias("at"),
            F.count(F.lit(1)).alias("records"),
            F.count_if(F.col("answered_micros").isNull()).alias("unanswered"),
            F.max("error").alias("error"),
        )
        .withColumn("seconds", (F.col("at") - F.col("since")) / MICROS_PER_SECOND)
        .where(f"seconds >= {OWED_SECONDS} or unanswered > 0")
        .join(F.broadcast(_held(trace)), on=F.expr(_IS_HELD), how="left")
        .groupBy(*key, "since", "at", "records", "unanswered", "error", "seconds")
        .agg(F.count("injected_micros").alias("faults")),
        is_close=True,
    )
    return CheckOutcome(
        findings(
            stuck,
            evidence=("producer", "records", "unanswered", "seconds", "error"),
            kind=F.expr(
                "case when faults > 0 then 'while a fault held'"
                f" when seconds >= {OWED_SECONDS} then 'no fault' else 'no answer' end"
            ),
            verdict=F.expr(
                "case when faults > 0 then 'permitted'"
                f" when seconds >= {OWED_SECONDS} then 'violation' else 'undecided' end"
            ),
            cause=F.format_string(
                "the last %s values of %s were not acknowledged, over %.1f s; %s got no answer",
                "records",
                "producer",
                "seconds",
                "unanswered",
            ),
        ),
        count(ends),
    )


def never_caught_up(trace: Trace) -> CheckOutcome:
    """A replica of a led partition is not in its ISR at the end, though its broker is in service.

    Owed OWED_SECONDS after it left the ISR, its broker came into service and the last fault was
    healed; permitted before, and where the broker is fenced. The end is when collecting begins.
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
    left = (
        changes(trace)
        .select(*_LOG, "isr", "was", "at_micros")
        .join(F.broadcast(out.select(*_LOG, "broker")), on=list(_LOG), how="inner")
        .groupBy(*_LOG, "broker")
        .agg(
            F.max(F.expr(f"if({has_left}, at_micros, null)")).alias("left"),
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
    healed = _held(trace).agg(
        F.max("healed_micros").alias("healed"),
        F.count_if(F.col("healed_micros").isNull()).alias("holding"),
    )
    told = (
        out.join(left, on=[*_LOG, "broker"], how="inner")
        .join(F.broadcast(states), on="broker", how="left")
        .crossJoin(F.broadcast(healed))
        .crossJoin(F.broadcast(_end(trace)))
        .withColumn(
            "seconds",
            F.greatest(F.lit(0), F.col("end") - F.greatest("since", "changed_micros", "healed"))
            / MICROS_PER_SECOND,
        )
    )
    return CheckOutcome(
        findings(
            told,
            evidence=("broker", "isr", "is_fenced", "holding", "seconds"),
            kind=F.expr("if(is_fenced, 'fenced', 'in service')"),
            verdict=F.expr(
                "if(is_fenced or holding > 0 or seconds <= "
                f"{OWED_SECONDS}, 'permitted', if(is_fenced is null, 'undecided', 'violation'))"
            ),
            at=F.col("since"),
            cause=F.format_string(
                "broker %s is not in the ISR %s when collecting begins; it could return for %.1f s",
                "broker",
                F.to_json("isr"),
                "seconds",
            ),
        ),
        count(last),
    )


def _held(trace: Trace) -> DataFrame:
    return trace["faults"].select("injected_micros", "healed_micros")


def _end(trace: Trace) -> DataFrame:
    """(end): when collecting began, or else the run ended."""
    ended = F.lit(trace.run.ended_micros or trace.run.started_micros)
    return (
        trace["phases"]
        .where(F.col("stage") == str(Stage.COLLECTING))
        .agg(F.coalesce(F.min("began_micros"), ended).alias("end"))
    )
