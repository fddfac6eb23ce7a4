"""Whether brokers refuse old producer epochs, and gaps in sequence numbers.

With transaction.version=2 (KIP-890) each commit and abort raises the producer epoch, and its marker
has the raised one. So which epoch is low is decided by the order of the log, never by counting.
"""

from functools import reduce

from analysis.checks.base import CheckDefinition, CheckOutcome, count_records
from analysis.checks.cases import DECIDED, Cases, decided, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.deliveries import sends
from analysis.facts.trace import Trace
from analysis.facts.transaction_outcomes import fenced

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_FENCING = "'ProducerFencedException', 'InvalidProducerEpochException'"
_NUMBERED = ("base_offset", "last_offset", "base_sequence")
_SEQUENCES = 2**31
"""After the largest sequence number follows 0."""

_APPENDED = Cases(
    violation(
        "appended",
        "{batches} batches of producer id {producer_id}, epoch {producer_epoch}, were appended"
        " after a batch of epoch {newer_epoch}",
    ),
    evidence="producer_id, producer_epoch, newer_epoch, batches",
)


def zombie_producer_accepted(trace: Trace) -> CheckOutcome:
    """A broker accepted an old producer epoch after a newer one, or a gap in sequence numbers.

    A batch follows one of a higher producer epoch in the log; the first sequence number of a batch
    is above the one that follows its predecessor, of the same producer id and epoch; or a send, a
    commit or offsets were acknowledged, though begun after a newer epoch of the transactional.id
    was reported. `duplicate_append` finds lower sequence numbers.

    Permitted: the request failed with an error other than a fencing one.
    Undecided: another worker reported the newer epoch, no more than the clock bound before, or the
        clock of the worker was set by as much; a
        commit or offsets have an unknown outcome; or the client reports no epoch.
    Evaluates: batches of producer ids whose epoch was raised within a log, batches that follow
        others of their producer epoch, and acts begun after a newer epoch was reported.
    Source: `ProducerAppendInfo.checkProducerEpoch`, `ProducerAppendInfo.checkSequence`; KIP-98.
    """
    batches = _raised_batches(trace)
    acts = _acts_of_fenced(trace)
    old = batches.where("producer_epoch < highest.producer_epoch")
    appended = (
        old.withColumn("newer_epoch", F.col("highest.producer_epoch"))
        .groupBy(*_LOG, "producer_id", "producer_epoch", "newer_epoch")
        .agg(
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count(F.lit(1)).alias("batches"),
        )
    )
    in_log = findings(appended, _APPENDED)
    numbered = _numbered_batches(trace)
    each = [rows.select(F.lit(1).alias("records")) for rows in (batches, numbered)]
    return CheckOutcome(
        in_log.unionByName(_reported_acts(acts, trace)).unionByName(_gaps(numbered)),
        count_records(reduce(Frame.union, each, acts.select("records"))),
    )


def _raised_batches(trace: Trace) -> Frame:
    """Surviving batches of ids with several epochs in a log, with the highest epoch before each."""
    key = ("base_offset", "last_offset", "producer_id", "producer_epoch")
    of_id = Window.partitionBy(*_LOG, "producer_id")
    before = of_id.orderBy("base_offset").rowsBetween(Window.unboundedPreceding, -1)
    return (
        trace["replica_batches"]
        .where("producer_id >= 0")
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .select(*_LOG, *key)
        .distinct()
        .withColumn("highest", F.max(F.struct("producer_epoch", "base_offset")).over(before))
        .withColumn("_first", F.min("producer_epoch").over(of_id))
        .withColumn("_last", F.max("producer_epoch").over(of_id))
        .where("_first < _last")
        .drop("_first", "_last")
    )


def _numbered_batches(trace: Trace) -> Frame:
    """Surviving batches that follow others of their producer id and epoch, of one replica each.

    Columns: topic, partition, producer_id, producer_epoch, base_offset, last_offset, base_sequence,
    ahead (how many sequence numbers are left out between the batch before and this one; below 0
    where they are not above it). Where a replica lacks offsets in between, they may have had these
    numbers, and nothing is evaluated.
    """
    of_log = Window.partitionBy(*_LOG, "broker").orderBy("base_offset")
    of_epoch = Window.partitionBy(*_LOG, "broker", "producer_id", "producer_epoch")
    before = of_epoch.orderBy("base_offset")
    whole = (
        trace["replica_batches"]
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .withColumn("_end", F.coalesce(F.lag("last_offset").over(of_log) + 1, "base_offset"))
        .withColumn("_holes", F.sum(F.expr("int(base_offset != _end)")).over(of_log))
    )
    following = "_before.base_sequence + _before.last_offset - _before.base_offset + 1"
    return (
        whole.where("producer_id >= 0 and not is_control and base_sequence >= 0")
        .withColumn("_before", F.lag(F.struct(*_NUMBERED, "_holes")).over(before))
        .where("_before._holes = _holes")
        .withColumn("_next", F.expr(following))
        .withColumn(
            "ahead",
            F.expr(f"base_sequence - if(_next < {_SEQUENCES}, _next, _next - {_SEQUENCES})"),
        )
        .select(*_LOG, "producer_id", "producer_epoch", *_NUMBERED, "ahead")
        .distinct()
    )


_GAP = Cases(
    violation(
        "gap",
        "a batch of producer id {producer_id}, epoch {producer_epoch}, begins at sequence number"
        " {base_sequence}, {ahead} above the expected one",
    ),
    evidence="producer_id, producer_epoch, base_sequence, ahead",
    offset_first="base_offset",
    offset_last="last_offset",
)


def _gaps(numbered: Frame) -> Frame:
    return findings(numbered.where(f"ahead > 0 and ahead < {_SEQUENCES // 2}"), _GAP)


def _acts_of_fenced(trace: Trace) -> Frame:
    """What producers began to send or commit after a newer epoch of their id was reported.

    Columns: worker, producer, transaction, transactional_id, producer_id, producer_epoch, act,
    topic, partition, first_sequence, first_offset, last_offset, records (1 of a commit), outcome,
    error, began_micros, newer_epoch, raised_micros, raised_by (worker). Where the client reports no
    epoch, newer_epoch is null, and another producer's initialization counts.
    """
    steps = trace["transactions"]
    sent = (
        sends(trace)
        .where("transaction is not null")
        .selectExpr(
            "worker",
            *_TRANSACTION,
            "'send' as act",
            *_LOG,
            "first_sequence",
            "first_offset",
            "last_offset",
            "records",
            "outcome",
            "error",
            "intended_micros as began_micros",
        )
    )
    ends = steps.where("step in ('commit', 'send_offsets')").selectExpr(
        "worker",
        *_TRANSACTION,
        "step as act",
        "cast(1 as bigint) as records",
        "outcome",
        "error",
        "began_micros",
    )
    acts = sent.unionByName(ends, allowMissingColumns=True).join(
        fenced(trace), on=list(_TRANSACTION), how="inner"
    )
    raisings = ("newer_epoch", "raised_by", "raised_micros")
    keys = [name for name in acts.columns if name not in raisings]
    earliest = F.min(F.struct("raised_micros", "raised_by", F.col("newer_epoch").alias("new")))
    return trace.engine.materialized(
        acts.where("began_micros > raised_micros")
        .groupBy(*keys)
        .agg(earliest.alias("_raised"))
        .withColumn("newer_epoch", F.col("_raised.new"))
        .withColumn("raised_micros", F.col("_raised.raised_micros"))
        .withColumn("raised_by", F.col("_raised.raised_by"))
        .drop("_raised")
    )


_IS_UNSURE = "is_near or newer_epoch is null"
_ACT = (
    "{acts} times {act} by {producer} with epoch {producer_epoch}, begun after newer epoch"
    " {coalesce(cast(newer_epoch as string), '(of another producer)')} was reported: {outcome}"
    " ({coalesce(error, 'no error')})"
)
_ACTED = Cases(
    violation("{act}", _ACT, when="outcome = 'ok'", undecided_if=_IS_UNSURE),
    undecided("{act}", _ACT, when="outcome = 'unknown' and act != 'send'"),
    permitted(
        "refused with another error",
        _ACT,
        when=f"outcome = 'failed' and error not in ({_FENCING})",
    ),
    evidence="producer, transaction, transactional_id, producer_epoch, newer_epoch,"
    " acts, outcome, error",
)


def _reported_acts(acts: Frame, trace: Trace) -> Frame:
    """Findings of acts that were acknowledged, possibly, or refused with another error."""
    apart = f"if(worker = raised_by, {trace.jump_micros}, {trace.clock_micros})"
    is_near = f"began_micros - raised_micros <= {apart} as is_near"
    judged = (
        decided(acts.selectExpr("*", is_near), _ACTED)
        .groupBy(
            *_TRANSACTION,
            *_LOG,
            "transactional_id",
            "producer_epoch",
            "newer_epoch",
            "act",
            "outcome",
            "error",
            *DECIDED,
        )
        .agg(
            F.min("first_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.sum("records").alias("acts"),
            F.min("began_micros").alias("at"),
        )
    )
    return findings(judged, _ACTED)


CHECKS = (
    CheckDefinition(
        "G13",
        zombie_producer_accepted,
        needs=("replica_batches", "log_starts"),
        cases=(*_APPENDED, *_ACTED, *_GAP),
    ),
)
