"""Whether a replica was cut further than its log diverged (taxonomy F4)."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.acknowledgements import reigns
from analysis.branches import fork_of
from analysis.checks.base import CheckOutcome, findings
from analysis.load import Trace

_LOG = ("topic", "partition")
_CUT = (*_LOG, "broker", "to_offset", "cut_micros")


def over_truncation(trace: Trace) -> CheckOutcome:
    """F4: a replica was cut below where it diverged: it had those records, and they survive.

    It had them because it wrote them itself, as the leader of an epoch that was over; or because
    they were acknowledged with acks=all while it was in the ISR. Judged are the truncations that
    servers logged. A follower has to be cut where its leader's log parts from its own, not below
    (KIP-101, KIP-279); each record that is cut for nothing is one replica fewer until it is
    fetched again.
    """
    own = _own_epochs(trace).selectExpr(
        *_CUT, "epoch", "greatest(start, to_offset) as first", "end - 1 as last", "'wrote' as had"
    )
    found = own.union(_acknowledged_in_sync(trace))
    return CheckOutcome(
        findings(
            found.selectExpr("*", "last - first + 1 as records"),
            evidence=("broker", "to_offset", "epoch", "records", "had"),
            kind=F.col("had"),
            verdict=F.lit("violation"),
            offset_first=F.col("first"),
            offset_last=F.col("last"),
            at=F.col("cut_micros"),
            cause=F.format_string(
                "broker %s was cut to %s, and had offsets %s to %s of epoch %s, which survive",
                "broker",
                "to_offset",
                "first",
                "last",
                "epoch",
            ),
        ),
        trace.rows["truncations"],
    )


def _survivors_above(trace: Trace) -> DataFrame:
    """Truncations with each epoch that the surviving branch has at or above them.

    _CUT, epoch, start, end (exclusive), leader, from_micros, until_micros of the epoch's reign.
    Only epochs that were over when the replica was cut.
    """
    spans = trace.epoch_starts.join(trace.log_bounds, on=list(_LOG), how="inner").selectExpr(
        *_LOG, "log_end", "epochs", "inline(epochs) as (epoch, start)"
    )
    intervals = spans.selectExpr(
        *_LOG, "epoch", "start", f"coalesce({fork_of('epoch')}, log_end) as end"
    )
    led = reigns(trace).selectExpr(*_LOG, "epoch", "broker as leader", "until_micros")
    return (
        trace["truncations"]
        .withColumnRenamed("at_micros", "cut_micros")
        .select(*_CUT)
        .join(intervals, on=list(_LOG), how="inner")
        .where("end > to_offset and end > start")
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("until_micros <= cut_micros")
    )


def _own_epochs(trace: Trace) -> DataFrame:
    return _survivors_above(trace).where("leader = broker")


def _acknowledged_in_sync(trace: Trace) -> DataFrame:
    """Spans of acks=all records that a replica must have had, and that survive where it was cut."""
    order = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    in_sync = trace["leaderships"].select(
        *_LOG,
        "isr",
        (F.col("at_micros") + trace.clock_micros).alias("since"),
        (F.lead("at_micros").over(order) - trace.clock_micros).alias("until"),
    )
    had = (
        _survivors_above(trace)
        .where("leader != broker")
        .join(in_sync, on=list(_LOG), how="inner")
        .where("array_contains(isr, broker) and since < cut_micros")
        .selectExpr(*_CUT, "epoch", "start", "end", "since", "least(until, cut_micros) as until")
    )
    sends = trace.acknowledged.where("acks = 'all'")
    return (
        sends.select(*_LOG, "offset", "value", "intended_micros", "answered_micros")
        .join(F.broadcast(had), on=list(_LOG), how="inner")
        .where("offset >= to_offset and offset >= start and offset < end")
        .where("intended_micros >= since and answered_micros <= until")
        .join(
            trace.surviving.select(*_LOG, "offset", "value", F.col("leader_epoch").alias("epoch")),
            on=[*_LOG, "offset", "value", "epoch"],
            how="left_semi",
        )
        .groupBy(*_CUT, "epoch")
        .agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
        .selectExpr(*_CUT, "epoch", "first", "last", "'acknowledged in sync' as had")
    )
