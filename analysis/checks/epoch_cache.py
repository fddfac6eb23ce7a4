"""Whether a replica's checkpoint of leader epochs agrees with its log."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, permitted, violation
from analysis.checks.metadata import epoch_ranges
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")

_CHECKPOINT = (
    "leader-epoch-checkpoint of broker {broker}, epoch {leader_epoch} with offsets {base_offset} to"
    " {last_offset}: {kind}"
)
_CHECKPOINT_DIFFERS = Cases(
    violation("no entry", _CHECKPOINT),
    violation("begins before its entry", f"{_CHECKPOINT} (entry at {{reported}})"),
    violation("ends after the next entry", f"{_CHECKPOINT} (entry at {{reported}})"),
    permitted("beyond the end", f"{_CHECKPOINT} (entry at {{reported}})"),
    evidence="broker, leader_epoch, reported",
)


def epoch_cache_mismatch(trace: Trace) -> CheckOutcome:
    """A replica's leader-epoch-checkpoint differs from the epochs of its batches.

    The batches of an epoch lie between its entry and the next. The first entry moves up with the
    log start; if records may be deleted, only later ones bound batches from below.

    Permitted: an entry beyond the end of the log: after a truncation the file is written in the
        background (KAFKA-15046), and corrected when it is loaded.
    Evaluates: every epoch of each replica at or above the log start.
    Source: `LeaderEpochFileCache`; `LogLoader`.
    """
    entries = (
        trace["epoch_checkpoints"]
        .groupBy("broker", *_LOG)
        .agg(
            F.array_sort(F.collect_list(F.struct("leader_epoch", "start_offset"))).alias("entries")
        )
    )
    reported = (
        trace["samples"].groupBy(*_LOG).agg(F.max("log_start_offset").alias("reported_start"))
    )
    bounds = (
        trace["log_starts"]
        .join(reported, on=list(_LOG), how="left")
        .select(
            "broker",
            *_LOG,
            F.greatest("log_start_offset", "reported_start").alias("log_start_offset"),
            "log_end_offset",
        )
    )
    deleting = trace.topics.selectExpr("topic", "deletes or retention_ms is not null as deletes")
    judged = (
        epoch_ranges(trace)
        .join(bounds, on=["broker", *_LOG], how="left")
        .where(
            "leader_epoch >= 0 and (log_start_offset is null or last_offset >= log_start_offset)"
        )
        .join(entries, on=["broker", *_LOG], how="left")
        .join(deleting, on="topic", how="left")
        .withColumn("entry", F.expr("get(filter(entries, e -> e.leader_epoch = leader_epoch), 0)"))
        .withColumn("first", F.expr("get(entries, 0)"))
        .withColumn(
            "next_start",
            F.expr(
                "array_min(transform(filter(entries, e -> e.leader_epoch > leader_epoch),"
                " e -> e.start_offset))"
            ),
        )
        .withColumn(
            "kind",
            F.expr(
                """case
                    when entry is null then
                        if(deletes and leader_epoch < first.leader_epoch, null, 'no entry')
                    when entry.start_offset > greatest(base_offset, log_start_offset)
                        and not (deletes and entry = first) then 'begins before its entry'
                    when next_start <= last_offset then 'ends after the next entry'
                end"""
            ),
        )
    )
    beyond = (
        trace["epoch_checkpoints"]
        .join(bounds, on=["broker", *_LOG], how="inner")
        .where("start_offset > log_end_offset")
        .selectExpr(
            "broker",
            *_LOG,
            "leader_epoch",
            "start_offset as base_offset",
            "start_offset as last_offset",
            "start_offset as reported",
            "'beyond the end' as kind",
        )
    )
    found = (
        judged.where("kind is not null")
        .selectExpr(
            "broker",
            *_LOG,
            "leader_epoch",
            "base_offset",
            "last_offset",
            "entry.start_offset as reported",
            "kind",
        )
        .unionByName(beyond)
        .selectExpr("*", "base_offset as offset_first", "last_offset as offset_last")
    )
    return CheckOutcome(findings(found, _CHECKPOINT_DIFFERS), count(judged))


CHECKS = (
    CheckDefinition(
        "G10",
        epoch_cache_mismatch,
        needs=("replica_batches", "log_starts", "epoch_checkpoints"),
        cases=_CHECKPOINT_DIFFERS,
    ),
)
