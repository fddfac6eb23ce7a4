"""What transactions wrote and how each ended: what several checks ask."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import closeup
from analysis.facts.elections import elections, starts_above, with_timelines
from analysis.facts.fates import with_fates
from analysis.facts.load import Trace
from analysis.facts.stretches import one_record

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_PIECE = (*_LOG, *_TRANSACTION, "first_offset", "last_offset", "records")
_PERMIT = ("at_micros", "epoch", "leader", "metadata_offset", "permits")
_END = ("outcome", "told", "marker", "marker_at", "fate")


def writes(trace: Trace) -> Frame:
    """Each value of a transaction with its fate, of a large trace those of `closeup.sends`.

    Columns: topic, partition, producer, transaction, value, offset (where acknowledged, else where
    a replica holds it, else null), outcome and answered_micros (of its send), and those of
    `with_fates`.
    """
    return trace.shared("transactional_writes", lambda: _writes(trace), is_close=True)


def _writes(trace: Trace) -> Frame:
    held = (
        closeup.replica_records(trace).groupBy(*_LOG, "value").agg(F.min("offset").alias("held_at"))
    )
    sends = (
        closeup.sends(trace)
        .where("transaction is not null")
        .join(held, on=[*_LOG, "value"], how="left")
        .withColumn("offset", F.coalesce("offset", "held_at"))
        .select(*_LOG, *_TRANSACTION, "value", "offset", "outcome", "answered_micros")
    )
    return with_fates(sends, trace)


def with_later_permit(lost: Frame, trace: Trace) -> Frame:
    """Writes that the log lacks, with `permit`: the first election since that permits their loss.

    It is null if no election since the write's answer permits it, as of `elections.with_permit`.

    Args:
        lost: with topic, partition, offset, answered_micros.
        trace: the run.
    """
    permits = (
        elections(trace)
        .where("permits is not null")
        .groupBy(*_LOG)
        .agg(F.collect_list(F.struct(*_PERMIT)).alias("_permits"))
    )
    is_later = (
        f"one.at_micros + {trace.clock_micros} >= answered_micros and not {starts_above('offset')}"
    )
    return (
        with_timelines(lost, trace)
        .join(F.broadcast(permits), on=list(_LOG), how="left")
        .withColumn("permit", F.expr(f"array_min(filter(_permits, one -> {is_later}))"))
        .drop("_permits", "timeline")
    )


def pieces(trace: Trace) -> Frame:
    """All that transactions sent, in stretches of one value at least.

    Columns: topic, partition, producer, transaction, first_offset, last_offset, records,
    outcome, `told`, marker, marker_at, fate, is_kept (whether the log holds them; null for those of
    `writes`). Those that were not acknowledged may have no offset.
    """
    single = (
        writes(trace)
        .withColumn("first_offset", F.col("offset"))
        .withColumn("last_offset", F.col("offset"))
        .withColumn("records", one_record())
        .withColumn("is_kept", F.lit(None).cast("boolean"))
        .select(*_PIECE, *_END, "is_kept")
    )
    if trace.is_small:
        return single
    return single.union(settled_writes(trace).select(*single.columns))


def settled_writes(trace: Trace) -> Frame:
    """What of a large trace `writes` leaves out: committed or aborted, and all in order.

    Columns: those of `pieces`.
    """
    return (
        closeup.settled(trace)
        .where("transaction is not null")
        .withColumn("outcome", F.lit("ok"))
        .select(*_PIECE, *_END, "is_kept")
    )
