"""Offsets at which more than one value was seen: in the surviving log, or by a group."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.load import Trace

_LOG = ("topic", "partition")


def contested(trace: Trace) -> DataFrame:
    """Who saw which values at the offsets that have several.

    Columns: topic, partition, offset, value, leader_epoch, group (null: the surviving log has it),
    first_micros and last_micros (of its deliveries; null for the log).
    """
    return trace.shared("contested", lambda: _contested(trace), is_close=True)


def _contested(trace: Trace) -> DataFrame:
    seen = (
        closeup.polls(trace)
        .select(*_LOG, "offset", "value", "leader_epoch", "group", "polled_micros")
        .unionByName(
            closeup.surviving(trace).select(
                *_LOG,
                "offset",
                "value",
                "leader_epoch",
                F.lit(None).cast("string").alias("group"),
                F.lit(None).cast("bigint").alias("polled_micros"),
            )
        )
    )
    several = trace.materialized(
        seen.select(*_LOG, "offset", F.xxhash64("value").alias("_hash"))
        .groupBy(*_LOG, "offset")
        .agg(F.min("_hash").alias("_low"), F.max("_hash").alias("_high"))
        .where("_low != _high")
        .select(*_LOG, "offset"),
        is_close=True,
    )
    return (
        seen.join(several, on=[*_LOG, "offset"], how="left_semi")
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
