"""What replicas held and reported: their records, their truncations, their high watermarks."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each
from analysis.facts.deliveries import acknowledged_sends, deliveries
from analysis.facts.leader_epochs import HEARD_SECONDS, fork_of, leader_epochs, states
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import int32, int64
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_PART = ("broker", *_LOG, "leader_epoch")
CUT = (*_LOG, "broker", "to_offset", "cut_micros")
_CUT = (*LOG, int32("broker"), int64("to_offset"), int64("cut_micros", "when it was truncated"))
_LEADER_EPOCH = (*_LOG, "epoch", "from_micros")
ANSWER_MICROS = 2 * MICROS_PER_SECOND
"""A response was requested at most this long before it was recorded, where that is not recorded."""
ASKED = f"coalesce(asked_micros, at_micros - {ANSWER_MICROS})"
"""SQL: when a response of `samples` was requested."""


_PRIME = 2**31 - 1
_PLACES = (
    f"((last_offset - first + 1) % {_PRIME}) * ((first % {_PRIME} + last_offset % {_PRIME})"
    f" % {_PRIME}) % {_PRIME}"
)
"""Twice the sum of the offsets of a range, modulo a prime: the sum of many may be no int64."""


@fact(
    int32("broker"),
    *LOG,
    int32("leader_epoch"),
    *each(int64, "offset_first offset_last"),
    int64("batched", "how many records by the batches"),
    int64("recorded", "how many by the records"),
)
def unmatched(trace: Trace) -> Frame:
    """Leader epochs of replicas whose batches have other offsets than their records.

    At or above the replica's log start. Control batches have no rows in `replica_records`.
    """
    starts = trace["log_starts"].select("broker", *_LOG, "log_start_offset")
    batches = (
        trace.present("replica_batches")
        .where("not coalesce(is_control, false)")
        .join(starts, on=["broker", *_LOG], how="left")
        .selectExpr(
            *_PART,
            "record_count",
            "base_offset",
            "last_offset",
            "greatest(base_offset, coalesce(log_start_offset, 0)) as first",
        )
        .where("last_offset >= first")
        .groupBy(*_PART)
        .agg(
            F.sum(F.expr("if(first = base_offset, record_count, last_offset - first + 1)")).alias(
                "batched"
            ),
            F.sum(F.expr(_PLACES)).alias("batch_sum"),
            F.min("first").alias("batch_first"),
            F.max("last_offset").alias("batch_last"),
        )
    )
    records = (
        trace["replica_records"]
        .join(starts, on=["broker", *_LOG], how="left")
        .selectExpr(
            *_PART, "greatest(first_offset, coalesce(log_start_offset, 0)) as first", "last_offset"
        )
        .where("last_offset >= first")
        .groupBy(*_PART)
        .agg(
            F.sum(F.expr("last_offset - first + 1")).alias("recorded"),
            F.sum(F.expr(_PLACES)).alias("record_sum"),
            F.min("first").alias("record_first"),
            F.max("last_offset").alias("record_last"),
        )
    )
    return (
        batches.join(records, on=list(_PART), how="full_outer")
        .selectExpr(
            *_PART,
            "least(batch_first, record_first) as offset_first",
            "greatest(batch_last, record_last) as offset_last",
            "coalesce(batched, 0) as batched",
            "coalesce(recorded, 0) as recorded",
            f"coalesce(batch_sum % {_PRIME} != record_sum % {_PRIME}, true) as is_elsewhere",
        )
        .where("batched != recorded or is_elsewhere")
    )


@fact(*LOG, int64("unmatched_first"), int64("unmatched_last"))
def logs_without_records(trace: Trace) -> Frame:
    """Where a surviving log lacks records.

    Batches of a surviving replica have more than its records, or other offsets: what is not among
    the records there may be in the log.
    """
    return (
        unmatched(trace)
        .where("batched >= recorded")
        .join(trace.survivors, on=["broker", *_LOG], how="left_semi")
        .groupBy(*_LOG)
        .agg(
            F.min("offset_first").alias("unmatched_first"),
            F.max("offset_last").alias("unmatched_last"),
        )
    )


@view(
    *LOG,
    int32("broker"),
    *each(int64, "log_start_offset log_end_offset"),
    int64("batches_end", "the offset after its last batch; null if it has no batch"),
)
def ends_of_replicas(trace: Trace) -> Frame:
    """The log start and the log end of each replica."""
    return trace["log_starts"].join(_ends_of_batches(trace), on=[*_LOG, "broker"], how="left")


@fact(*LOG, int32("broker"), int64("batches_end"))
def _ends_of_batches(trace: Trace) -> Frame:
    """The offset after the last batch of each replica."""
    return (
        trace["replica_batches"]
        .groupBy(*_LOG, "broker")
        .agg((F.max("last_offset") + 1).alias("batches_end"))
    )


@view(
    *_CUT,
    int32("epoch"),
    int64("start"),
    int64("end", "exclusive"),
    int32("leader"),
    int64("until_micros", "of the epoch's leadership"),
)
def survivors_above(trace: Trace) -> Frame:
    """Truncations with each epoch that the surviving branch has at or above them.

    Only epochs that were over when the replica was truncated.
    """
    spans = (
        trace.epoch_starts.join(trace.log_bounds, on=list(_LOG), how="inner")
        .select(*_LOG, "log_end", "epochs", F.explode("epochs").alias("one"))
        .selectExpr(*_LOG, "log_end", "epochs", "one.leader_epoch as epoch", "one.start_offset")
    )
    intervals = spans.selectExpr(
        *_LOG,
        "epoch",
        "start_offset as start",
        f"coalesce({fork_of('epoch')}, log_end) as end",
    )
    led = of_present_topic(leader_epochs(trace), trace, "from_micros").selectExpr(
        *_LOG, "epoch", "broker as leader", "until_micros"
    )
    return (
        of_present_topic(trace["truncations"], trace, "at_micros")
        .withColumnRenamed("at_micros", "cut_micros")
        .select(*CUT)
        .join(intervals, on=list(_LOG), how="inner")
        .where("end > to_offset and end > start")
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("until_micros <= cut_micros")
    )


@fact(
    *_CUT,
    int32("epoch"),
    int64("start"),
    int64("end", "exclusive"),
    int64("since", "acknowledged by all from then on"),
    int64("until", "and until then"),
)
def replicated_above(trace: Trace) -> Frame:
    """Records of an epoch that followers had while they were in the ISR, above a truncation."""
    in_sync = states(trace).select(
        *_LOG,
        "isr",
        (F.col("at_micros") + trace.clock_micros).alias("since"),
        (F.col("until_micros") - trace.clock_micros).alias("until"),
    )
    return (
        survivors_above(trace)
        .where("leader != broker")
        .join(in_sync, on=list(_LOG), how="inner")
        .where("array_contains(isr, broker) and since < cut_micros")
        .selectExpr(*CUT, "epoch", "start", "end", "since", "least(until, cut_micros) as until")
    )


def with_proofs(offsets: Frame, trace: Trace) -> Frame:
    """Add `proved_micros` and `reported_micros`: when a high watermark was beyond `offset`.

    Within a leader epoch a high watermark does not go back, so it is beyond from then on. The first
    is of any proof, the second of the leader's own report to the observer; null without one.

    Args:
        offsets: with topic, partition, epoch and from_micros of `leader_epochs`, and offset.
        trace: whose.
    """
    from_above = (
        Window.partitionBy(*_LEADER_EPOCH)
        .orderBy(F.desc("offset"))
        .rangeBetween(Window.unboundedPreceding, 0)
    )
    proofs = _proofs(trace).join(
        offsets.select(*_LEADER_EPOCH).distinct(), on=list(_LEADER_EPOCH), how="left_semi"
    )
    return (
        offsets.withColumn("_is_proof", F.expr("false"))
        .unionByName(proofs.withColumn("_is_proof", F.expr("true")), allowMissingColumns=True)
        .withColumn("reported_micros", F.min("reported_micros").over(from_above))
        .withColumn("proved_micros", F.min("proved_micros").over(from_above))
        .where("not _is_proof")
        .drop("_is_proof")
    )


def _proofs(trace: Trace) -> Frame:
    """(topic, partition, epoch, from_micros, offset, proved_micros, reported_micros).

    The leader of the epoch reported a higher high watermark, a group was delivered the record with
    this epoch, or the leader acknowledged it with acks=all.
    """
    led = leader_epochs(trace).select(*_LEADER_EPOCH, "until_micros")
    reported = (
        trace["samples"]
        .where("broker = leader")
        .selectExpr(
            *_LOG,
            "leader_epoch as epoch",
            "log_end_offset - 1 as offset",
            "at_micros as at",
            "at_micros as reported_micros",
        )
    )
    delivered = deliveries(trace).selectExpr(
        *_LOG,
        "leader_epoch as epoch",
        "last_offset as offset",
        "at_micros as at",
        "cast(null as bigint) as reported_micros",
    )
    of_epoch = (
        reported.unionByName(delivered)
        .join(led, on=[*_LOG, "epoch"], how="inner")
        .where("at >= from_micros and (until_micros is null or at < until_micros)")
        .selectExpr(*_LEADER_EPOCH, "offset", "at as proved_micros", "reported_micros")
    )
    # A send does not name the leader that acknowledged it; from then on it is no older one.
    heard = f"from_micros + {HEARD_SECONDS * MICROS_PER_SECOND}"
    acknowledged = (
        acknowledged_sends(trace)
        .where("acks = 'all'")
        .join(led, on=list(_LOG), how="inner")
        .where(f"intended_micros >= {heard}")
        .where("until_micros is null or answered_micros < until_micros")
        .selectExpr(*_LEADER_EPOCH, "last_offset as offset", "answered_micros as proved_micros")
    )
    return of_epoch.unionByName(acknowledged, allowMissingColumns=True)


def in_order(samples: Frame, trace: Trace, *keys: str, value: str) -> Frame:
    """Each reported value, and the largest one that was reported before the request for it.

    Two threads query at the same time, so the order in which responses were recorded proves
    nothing: only a response that was recorded before a request was sent is older than the response
    to that request. If a clock was set meanwhile, it has to be older by as much.

    Returns:
        The keys, at_micros, value, before (null if none was reported before).
    """
    asked = F.expr(ASKED)
    reported = samples.select(
        *keys, F.col(value).alias("value"), "at_micros", (asked - trace.jump_micros).alias("_asked")
    )
    answers = reported.withColumn("_moment", F.col("at_micros")).withColumn("_reported", F.lit(1))
    questions = reported.withColumn("_moment", F.col("_asked")).withColumn("_reported", F.lit(0))
    order = Window.partitionBy(*keys).orderBy("_moment")
    earlier = order.rangeBetween(Window.unboundedPreceding, -1)
    before = F.max(F.when(F.col("_reported") == 1, F.col("value"))).over(earlier)
    return (
        answers.union(questions)
        .withColumn("before", before)
        .where("_reported = 0")
        .select(*keys, "at_micros", "value", "before")
    )
