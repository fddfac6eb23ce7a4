"""How each group went on after it was stopped and opened again, or after its last pause."""

from typing import Any

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import deliveries
from analysis.facts.positions import PARTITION, endings, last_commits, offsets_of
from analysis.facts.progress import never_delivered
from analysis.facts.trace import Trace
from contract.verdicts import Resumption

_NEEDS = ("group_events", "committed_offsets", "polls")
_EPOCHS = ("record_epoch", "position_epoch", "metadata_epoch", "cluster_epoch")


def lacks(trace: Trace) -> str:
    """Which tables `resumptions` can't do without, in words; empty if it lacks none."""
    return trace.lacks(_NEEDS)


def resumptions(trace: Trace) -> list[Resumption]:
    """How each group went on after it was stopped and opened again, or after its last pause.

    Evaluates: every partition of a group that was opened at least twice.
    Source: docs/results.md, resumption.
    """
    rows = sorted(
        (dict(row) for row in _facts(trace).collect()),
        key=lambda row: (row["topic"], row["partition"]),
    )
    by_group = {group.group: group for group in trace.plan.groups}
    order = {group: index for index, group in enumerate(sorted(by_group))}
    reported = []
    for row in sorted(rows, key=lambda row: order[row["group"]]):
        plan = by_group[row["group"]]
        reported.append(
            Resumption(
                group=row["group"],
                client=plan.client,
                commit_epoch=plan.commit_epoch,
                reset=plan.reset,
                committed_offset=row["committed_offset"],
                committed_epoch=row["committed_epoch"],
                resumed_at=None if row["exception"] else row["resumed_at"],
                redelivered=row["redelivered"],
                never_delivered=None if row["exception"] else row["never_delivered"],
                exception=_exception(row),
                topic=row["topic"],
                partition=row["partition"],
                **{name: row[name] for name in _EPOCHS},
            )
        )
    return reported


def _exception(row: dict[str, Any]) -> str | None:
    name: str | None = row["exception"]
    if name is None or row["divergent_offset"] is None:
        return name
    return f"{name} (divergent offset {row['divergent_offset']})"


def _facts(trace: Trace) -> Frame:
    """The facts of each row, by group, topic, partition."""
    reopened = _reopened(trace)
    pauses = _pauses(trace)
    partitions = deliveries(trace).select(*PARTITION).distinct()
    counted = (
        slices.polls(trace)
        .groupBy(*PARTITION, "value", "records")
        .agg(F.count(F.lit(1)).alias("deliveries"))
        .where("deliveries > 1")
        .groupBy(*PARTITION)
        .agg(F.sum("records").cast("bigint").alias("redelivered"))
    )
    skipped = (
        never_delivered(trace)
        .select(*PARTITION, "offset", "records")
        .distinct()
        .groupBy(*PARTITION)
        .agg(F.sum("records").cast("bigint").alias("never_delivered"))
    )
    return (
        partitions.join(reopened, on="group", how="inner")
        .join(trace.groups.select("group"), on="group", how="left_semi")
        .join(_commits_before(trace, reopened, pauses), on=list(PARTITION), how="left")
        .join(_epochs_known(trace, reopened, pauses), on=list(PARTITION), how="left")
        .join(_resumed_at(trace, pauses), on=list(PARTITION), how="left")
        .join(_exceptions(trace), on="group", how="left")
        .join(counted, on=list(PARTITION), how="left")
        .join(skipped, on=list(PARTITION), how="left")
        .select(
            *PARTITION,
            "committed_offset",
            "committed_epoch",
            *_EPOCHS,
            "resumed_at",
            "exception",
            "divergent_offset",
            F.coalesce("redelivered", F.lit(0)).alias("redelivered"),
            F.coalesce("never_delivered", F.lit(0)).alias("never_delivered"),
        )
    )


def _reopened(trace: Trace) -> Frame:
    """(group, last_member, opened_micros) of groups that had more than one member in turn."""
    return (
        trace["group_events"]
        .where("change = 'opened'")
        .groupBy("group")
        .agg(
            F.count_distinct("member").alias("lives"),
            F.max_by("member", F.struct("at_micros", "seq")).alias("last_member"),
            F.max("at_micros").alias("opened_micros"),
        )
        .where("lives > 1")
        .select("group", "last_member", "opened_micros")
    )


def _pauses(trace: Trace) -> Frame:
    """Where the last member of a group came to the end, stayed open, and read on.

    Who stalled before was at its first reading still. Columns: group, topic, partition, paused_seq
    (in its history, of the last time that it came to the end but did not stop for good),
    ended_micros (when it did).
    """
    last = _reopened(trace).select("group", F.col("last_member").alias("member"))
    stops = trace["group_events"].join(last, on=["group", "member"], how="left_semi")
    failed = (
        stops.where("change = 'failed'")
        .groupBy("group")
        .agg(F.max("seq").alias("failed_seq"), F.max("at_micros").alias("failed_micros"))
    )
    came_to_an_end = (
        stops.where("change in ('caught_up', 'stalled')")
        .groupBy(*PARTITION)
        .agg(
            F.collect_list(F.when(F.col("change") == "caught_up", F.col("seq"))).alias("ends"),
            F.max("seq").alias("stopped_seq"),
            F.max("at_micros").alias("stopped_micros"),
        )
    )
    earlier = F.expr("filter(ends, one -> one < greatest(stopped_seq, failed_seq))")
    return (
        came_to_an_end.join(failed, on="group", how="left")
        .select(
            *PARTITION,
            F.array_max(earlier).alias("paused_seq"),
            F.greatest("stopped_micros", "failed_micros").alias("ended_micros"),
        )
        .where("paused_seq is not null")
    )


def _commits_before(trace: Trace, reopened: Frame, pauses: Frame) -> Frame:
    """What the coordinator held when the last member was opened, or went on after its pause."""
    stored = (
        offsets_of(trace)
        .join(reopened, on="group", how="inner")
        .join(pauses, on=list(PARTITION), how="left")
    )
    return last_commits(stored.where("committed_micros <= coalesce(ended_micros, opened_micros)"))


def _epochs_known(trace: Trace, reopened: Frame, pauses: Frame) -> Frame:
    """The epochs that the client and the cluster had at the client's own last commit before."""
    return (
        trace["commits"]
        .join(reopened, on="group", how="inner")
        .join(pauses, on=list(PARTITION), how="left")
        .where("committed_micros <= coalesce(ended_micros, opened_micros)")
        .groupBy(*PARTITION)
        .agg(*(F.max_by(name, F.struct("committed_micros", "seq")).alias(name) for name in _EPOCHS))
    )


def _resumed_at(trace: Trace, pauses: Frame) -> Frame:
    """Where the last member was served first; its last position where it was served nothing.

    Of a member that stopped and read on, only what came after its pause counts.
    """
    last = _reopened(trace).select("group", F.col("last_member").alias("member"))
    served = (
        deliveries(trace)
        .join(last, on=["group", "member"], how="left_semi")
        .join(pauses, on=list(PARTITION), how="left")
        .where("paused_seq is null or seq > paused_seq")
        .groupBy(*PARTITION)
        .agg(F.min_by("first_offset", F.struct("seq", "first_place")).alias("served_at"))
    )
    reported = (
        trace["group_events"]
        .join(last, on=["group", "member"], how="left_semi")
        .where("change in ('caught_up', 'stalled')")
        .groupBy(*PARTITION)
        .agg(F.max_by("position", F.struct("at_micros", "seq")).alias("reported_at"))
    )
    return served.join(reported, on=list(PARTITION), how="full_outer").select(
        *PARTITION, F.coalesce("served_at", "reported_at").alias("resumed_at")
    )


def _exceptions(trace: Trace) -> Frame:
    """(group, exception, divergent_offset) of groups whose last member raised."""
    raised = trace["group_events"].where("change = 'failed'")
    last = (
        endings(trace)
        .where("last_change = 'failed'")
        .select("group", F.col("last_member").alias("member"))
    )
    return (
        raised.join(last, on=["group", "member"], how="left_semi")
        .groupBy("group")
        .agg(
            F.max_by("exception", "at_micros").alias("exception"),
            F.max("divergent_offset").alias("divergent_offset"),
        )
    )
