"""Replicas whose batches and records, as they were decoded, are not of one log.

Both tables come from the same segments, so a batch without its records, or records without their
batch, is a gap of the decoded history and says nothing about Kafka.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64

_LOG = ("topic", "partition")
_PART = ("broker", *_LOG, "leader_epoch")


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
            F.sum(F.expr("(last_offset - first + 1) * (first + last_offset)")).alias("batch_sum"),
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
            F.sum(F.expr("(last_offset - first + 1) * (first + last_offset)")).alias("record_sum"),
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
            "coalesce(batch_sum != record_sum, true) as is_elsewhere",
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
