"""Which replicas speak for a partition at the end, and where its log then began and ended."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame

_LOG = ("topic", "partition")


def survivors(replicas: Frame, leaderships: Frame) -> Frame:
    """(topic, partition, broker): the replicas in their partition's last ISR.

    A broker that never came back keeps records that the partition has lost, so its replica proves
    nothing. All replicas count where the last ISR is unknown, empty, or left no replica at all.

    Args:
        replicas: with topic, partition, broker of every replica that was collected.
        leaderships: the table of that name.
    """
    last = leaderships.groupBy(*_LOG).agg(F.max_by("isr", "metadata_offset").alias("isr"))
    return (
        replicas.select(*_LOG, "broker")
        .distinct()
        .join(last, on=list(_LOG), how="left")
        .withColumn("in_sync", F.expr("coalesce(array_contains(isr, broker), false)"))
        .withColumn("any_in_sync", F.max("in_sync").over(Window.partitionBy(*_LOG)))
        .where("in_sync or not any_in_sync")
        .select(*_LOG, "broker")
    )


def log_bounds(log_starts: Frame, samples: Frame, leaderships: Frame) -> Frame:
    """(topic, partition, log_start, log_end): bounds at the end, the end exclusive.

    A server that is killed may not have written its log start yet (it does so once in
    `log.flush.start.offset.checkpoint.interval.ms`), so the log start that the last leader
    reported counts too.

    Args:
        log_starts: the table of that name, of surviving replicas only.
        samples: the table of that name.
        leaderships: the table of that name.
    """
    last = leaderships.groupBy(*_LOG).agg(F.max_by("leader_epoch", "metadata_offset").alias("e"))
    reported = (
        samples.where("log_start_offset >= 0 and broker = leader")
        .join(last, on=list(_LOG), how="inner")
        .where("leader_epoch = e")
        .groupBy(*_LOG)
        .agg(F.max_by("log_start_offset", "at_micros").alias("reported_start"))
    )
    return (
        log_starts.groupBy(*_LOG)
        .agg(F.min("log_start_offset").alias("start"), F.max("log_end_offset").alias("log_end"))
        .join(reported, on=list(_LOG), how="left")
        .select(*_LOG, F.greatest("start", "reported_start").alias("log_start"), "log_end")
    )
