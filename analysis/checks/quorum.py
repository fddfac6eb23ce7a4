"""Whether the controllers' own log keeps Raft's rules, and brokers report what it has (KIP-595)."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace

_BATCH = ("base_offset", "last_offset", "metadata_epoch", "size_bytes", "checksum")
_WHERE = ("servers", "metadata_epoch", "offset_first", "offset_last", "batches", "kind")

_LOGS = "metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}"
_LOGS_DIFFER = Cases(
    violation("not matching", _LOGS),
    violation("one offset, two batches", _LOGS),
    violation("epoch regressed", _LOGS),
    violation("two leaders", _LOGS),
    permitted("uncommitted tail", _LOGS),
    evidence="servers, metadata_epoch, batches",
)


def metadata_divergence(trace: Trace) -> CheckOutcome:
    """Two servers' metadata logs differ, or a broker reported a leadership that no log has.

    Logs that share a batch are the same before it; an offset and epoch name one batch; epochs grow
    with the offset; an epoch has one leader, also by its own report, and in what a log held before
    it was truncated. A leadership that a broker reported was committed, so the metadata log has it.

    Permitted: a tail behind the last shared batch: its server had not rejoined when the run ended.
    Evaluates: every batch of each metadata log, against each log that shares batches with it.
    Source: KIP-595; Raft, Log Matching.
    """
    batches = trace["metadata_batches"].select("server", *_BATCH, "leader")
    cut = trace["cut_metadata_batches"].select("server", *_BATCH, "leader")
    every = batches.unionByName(cut)
    pairs = trace.shared("metadata_pairs", lambda: _pairs(batches))
    found = (
        _unmatched(batches, pairs)
        .unionByName(_ambiguous(every))
        .unionByName(_regressed(batches))
        .unionByName(_two_leaders(every, trace))
    )
    logs = findings(found, _LOGS_DIFFER)
    return CheckOutcome(
        logs.unionByName(_unknown_leaderships(trace)),
        count(batches.join(pairs.select("server", "other"), on="server")),
    )


def _pairs(batches: Frame) -> Frame:
    """(server, other, shared_to, start, end): how far two logs share batches, and the other's."""
    bounds = batches.groupBy(F.col("server").alias("other")).agg(
        F.min("base_offset").alias("start"), F.max("last_offset").alias("end")
    )
    others = batches.select(F.col("server").alias("other"), *_BATCH)
    return (
        batches.join(others, on=list(_BATCH), how="inner")
        .where("server != other")
        .groupBy("server", "other")
        .agg(F.max("base_offset").alias("shared_to"))
        .join(bounds, on="other", how="inner")
        .select("server", "other", "shared_to", "start", "end")
    )


def _unmatched(batches: Frame, pairs: Frame) -> Frame:
    """Batches of one log that another lacks, though it reaches so far."""
    there = batches.select(F.col("server").alias("other"), *_BATCH)
    return (
        batches.join(pairs, on="server", how="inner")
        .where("base_offset between start and end")
        .join(there, on=["other", *_BATCH], how="left_anti")
        .withColumn(
            "kind", F.expr("if(base_offset <= shared_to, 'not matching', 'uncommitted tail')")
        )
        .groupBy(F.array("server", "other").alias("servers"), "metadata_epoch", "kind")
        .agg(
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count(F.lit(1)).alias("batches"),
        )
        .select(*_WHERE)
    )


def _ambiguous(batches: Frame) -> Frame:
    """Offsets and epochs that name different batches."""
    return (
        batches.groupBy("metadata_epoch", "base_offset")
        .agg(
            F.count_distinct("last_offset", "size_bytes", "checksum").alias("batches"),
            F.sort_array(F.collect_set("server")).alias("servers"),
            F.max("last_offset").alias("offset_last"),
        )
        .where("batches > 1")
        .withColumn("offset_first", F.col("base_offset"))
        .withColumn("kind", F.lit("one offset, two batches"))
        .select(*_WHERE)
    )


def _regressed(batches: Frame) -> Frame:
    """Epochs that begin before a smaller one has ended."""
    below = (
        Window.partitionBy("server")
        .orderBy("metadata_epoch")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        batches.groupBy("server", "metadata_epoch")
        .agg(
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count(F.lit(1)).alias("batches"),
        )
        .withColumn("end_before", F.max("offset_last").over(below))
        .where("end_before >= offset_first")
        .withColumn("servers", F.array("server"))
        .withColumn("kind", F.lit("epoch regressed"))
        .select(*_WHERE)
    )


def _two_leaders(batches: Frame, trace: Trace) -> Frame:
    """Epochs that several controllers led, by the entries that they wrote or by their reports."""
    reported = trace["quorum_samples"].selectExpr(
        "leader_epoch as metadata_epoch",
        "leader",
        "cast(null as bigint) as base_offset",
        "cast(null as bigint) as last_offset",
    )
    return (
        batches.where("leader is not null")
        .select("metadata_epoch", "leader", "base_offset", "last_offset")
        .unionByName(reported)
        .groupBy("metadata_epoch")
        .agg(
            F.sort_array(F.collect_set("leader")).alias("servers"),
            F.min("base_offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            F.count("base_offset").alias("batches"),
        )
        .where("size(servers) > 1")
        .withColumn("kind", F.lit("two leaders"))
        .select(*_WHERE)
    )


_UNKNOWN_LEADERSHIP = Cases(
    violation(
        "unknown leadership",
        "brokers {to_json(brokers)} reported broker {leader} as leader of epoch {leader_epoch},"
        " which is in no metadata log",
    ),
    evidence="brokers, leader, leader_epoch",
)


def _unknown_leaderships(trace: Trace) -> Frame:
    reported = ("topic", "partition", "leader", "leader_epoch")
    unknown = (
        trace["samples"]
        .where("leader >= 0")
        .join(trace["leaderships"].select(*reported), on=list(reported), how="left_anti")
        .groupBy(*reported)
        .agg(F.min("at_micros").alias("at"), F.sort_array(F.collect_set("broker")).alias("brokers"))
    )
    return findings(unknown, _UNKNOWN_LEADERSHIP)


CHECKS = (
    CheckDefinition(
        "G12",
        metadata_divergence,
        needs=("metadata_batches", "leaderships"),
        cases=(*_LOGS_DIFFER, *_UNKNOWN_LEADERSHIP),
    ),
)
