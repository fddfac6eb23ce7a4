"""What transactions wrote and how each ended: what several checks ask."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.declared import LOG, each
from analysis.facts.elections import elections, starts_above, with_timelines
from analysis.facts.trace import Trace, fact
from analysis.facts.transaction_outcomes import OUTCOME, with_outcomes
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")
_TRANSACTION = ("producer", "transaction")
_SLICE = ("offset", "last_offset", "records")
_PERMIT = ("at_micros", "epoch", "leader", "metadata_offset", "permits")


@fact(
    *LOG,
    string("producer"),
    int32("transaction"),
    string("value"),
    int64("offset", "where acknowledged, else where a replica holds it, else null"),
    *each(int64, "last_offset records"),
    string("outcome", "of its send"),
    int64("answered_micros"),
    *OUTCOME,
)
def writes(trace: Trace) -> Frame:
    """What transactions sent, in slices with their outcomes (`with_outcomes`)."""
    held = (
        slices.replica_records(trace).groupBy(*_LOG, "value").agg(F.min("offset").alias("held_at"))
    )
    sends = (
        slices.sends(trace)
        .where("transaction is not null")
        .join(held, on=[*_LOG, "value"], how="left")
        .withColumn("offset", F.coalesce("offset", "held_at"))
        .withColumn("last_offset", F.coalesce("last_offset", "held_at"))
        .select(*_LOG, *_TRANSACTION, "value", *_SLICE, "outcome", "answered_micros")
    )
    return with_outcomes(sends, trace)


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
        .join(permits, on=list(_LOG), how="left")
        .withColumn("permit", F.expr(f"array_min(filter(_permits, one -> {is_later}))"))
        .drop("_permits", "timeline")
    )
