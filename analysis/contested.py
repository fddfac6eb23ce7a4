"""Offsets at which more than one value was seen: in the surviving log, or by a group."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace

_LOG = ("topic", "partition")
_BUCKET_OFFSETS = 1024


def contested(trace: Trace) -> DataFrame:
    """Who saw which values at the offsets that have several.

    Columns: topic, partition, offset, value, leader_epoch, group (null: the surviving log has it),
    first_micros and last_micros (of its deliveries; null for the log).

    Screened by stretches of offsets: where all groups that read of one, and the log, have the same
    count and the same hash of offsets and values, each read just what the log holds. Only records
    of other stretches are grouped by offset.
    """
    return trace.shared("contested", lambda: _contested(trace))


def _contested(trace: Trace) -> DataFrame:
    seen = (
        trace["polls"]
        .select(*_LOG, "offset", "value", "leader_epoch", "group", "polled_micros")
        .unionByName(
            trace.surviving.select(
                *_LOG,
                "offset",
                "value",
                "leader_epoch",
                F.lit(None).cast("string").alias("group"),
                F.lit(None).cast("bigint").alias("polled_micros"),
            )
        )
        .withColumn("_bucket", F.expr(f"offset div {_BUCKET_OFFSETS}"))
    )
    doubtful = trace.materialized(
        seen.groupBy(*_LOG, "_bucket", "group")
        .agg(
            F.count(F.lit(1)).alias("_records"),
            F.bit_xor(F.xxhash64("offset", "value")).alias("_hash"),
        )
        .groupBy(*_LOG, "_bucket")
        .agg(
            F.min("_records").alias("_least"),
            F.max("_records").alias("_most"),
            F.min("_hash").alias("_low"),
            F.max("_hash").alias("_high"),
            F.max(F.col("group").isNull()).alias("_has_log"),
        )
        .where("_least != _most or _low != _high or not _has_log")
        .select(*_LOG, "_bucket")
    )
    doubted = seen.join(F.broadcast(doubtful), on=[*_LOG, "_bucket"], how="left_semi")
    several = trace.materialized(
        doubted.groupBy(*_LOG, "offset")
        .agg(F.min("value").alias("_low"), F.max("value").alias("_high"))
        .where("_low != _high")
        .select(*_LOG, "offset")
    )
    return (
        doubted.join(several, on=[*_LOG, "offset"], how="left_semi")
        .groupBy(*_LOG, "offset", "value", "leader_epoch", "group")
        .agg(
            F.min("polled_micros").alias("first_micros"),
            F.max("polled_micros").alias("last_micros"),
        )
    )


def recreated(trace: Trace) -> DataFrame:
    """(topic, partition): of topics that were created again, so that offsets began anew."""
    return trace.shared("recreated", lambda: _recreated(trace))


def _recreated(trace: Trace) -> DataFrame:
    creations = trace["leaderships"].groupBy(*_LOG, "leader_epoch", "partition_epoch").count()
    return creations.where("count > 1").select(*_LOG).distinct()
