"""What clients report against what is stored, and what brokers had to answer (taxonomy D9, F)."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.commits import COMMIT, COMMIT_CLOCK_MICROS, stored_commits
from analysis.load import Trace
from analysis.lookups import given_at
from analysis.offsets import all_offsets, offsets_of
from analysis.positions import PARTITION
from analysis.state import of_present_topic, timelines, with_log_starts
from harness.contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_ASKED = (*PARTITION, "member", "seq")
_UNTOLD_SECONDS = 30
"""A commit began at most so long before it was answered, in histories that do not tell when."""
_RETRY_MICROS = MICROS_PER_SECOND // 10
"""`retry.backoff.ms`: a commit that took less was tried once."""
_FAILED = (*PARTITION, "member", "seq", "at_micros", "position", "divergent_offset")


def commit_mismatch(trace: Trace) -> CheckOutcome:
    """D9: what a client asked to commit, what it was answered, and what is stored differ.

    Judged are the commits that clients report. A commit that was acknowledged is stored with its
    offset and its epoch; one that surely failed, and one that had nothing to commit, is not stored.
    Undecided where a commit that failed took so long that the client may have retried it: an
    earlier attempt may have been stored. Undecided too is a stored commit that no client reports:
    the history lacks it. Source: `GroupCoordinator.commitOffsets`,
    `ConsumerCoordinator.commitOffsetsSync`.
    """
    asked = _asked(trace)
    stored = _unexplained(trace, asked)
    key = (*COMMIT, "stored_offset", "stored_epoch", "stored_micros")
    meanwhile = (
        stored.join(asked, on=list(PARTITION), how="left")
        .withColumn("is_then", F.expr("stored_micros between asked_first and asked_last"))
        .withColumn("is_equal", F.expr(f"{_IS_EQUAL}"))
        .withColumn(
            "kind",
            F.expr(
                """case
                    when not is_then then null
                    when is_of_control and stored_offset = offset then null
                    when outcome = 'ok' and not is_kept and stored_offset = offset then 'epoch'
                    when outcome = 'ok' and not is_kept and stored_offset != offset then 'offset'
                    when outcome = 'failed' and is_equal then 'stored though it failed'
                    when outcome = 'nothing' then 'stored though there was nothing'
                end"""
            ),
        )
        .groupBy(*key)
        .agg(
            F.expr(
                f"min_by({_OF_ASKED}, abs(stored_micros - asked_last))"
                " filter (where kind is not null)"
            ).alias("told"),
            F.max(F.expr("is_then and is_of_control and stored_offset = offset")).alias("is_told"),
        )
        .where("told is not null or not coalesce(is_told, false)")
        .select(*key, "told.*")
    )
    found = meanwhile.withColumn("kind", F.coalesce("kind", F.lit("not in the history")))
    is_missing = F.col("kind") == "not in the history"
    may_be_retried = F.expr(
        f"outcome = 'failed' and coalesce(took_micros >= {_RETRY_MICROS}, true)"
    )
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "member",
                "outcome",
                "asked_offset",
                "asked_epoch",
                "stored_offset",
                "stored_epoch",
            ),
            kind=F.col("kind"),
            verdict=F.when(is_missing | may_be_retried, "undecided").otherwise("violation"),
            offset_first=F.col("stored_offset"),
            offset_last=F.col("stored_offset"),
            at=F.col("stored_micros"),
            cause=F.when(
                is_missing,
                F.format_string(
                    "(%s, epoch %s) is stored, and no client reports that it committed it",
                    "stored_offset",
                    "stored_epoch",
                ),
            ).otherwise(
                F.format_string(
                    "%s reports a commit of (%s, epoch %s) as %s; (%s, epoch %s) is stored",
                    "member",
                    "asked_offset",
                    "asked_epoch",
                    "outcome",
                    "stored_offset",
                    "stored_epoch",
                )
            ),
        ),
        count(asked),
    )


_IS_EQUAL = "stored_offset = offset and stored_epoch = committed_epoch"
_OF_ASKED = """
    struct(kind, member, outcome, offset as asked_offset, committed_epoch as asked_epoch,
        took_micros)
"""


def _asked(trace: Trace) -> DataFrame:
    """Commits as clients report them, with asked_first, asked_last: when they may have been stored.

    is_kept: whether the coordinators' log has it as it was asked for.
    """
    return trace.shared("asked_commits", lambda: _asked_commits(trace))


def _asked_commits(trace: Trace) -> DataFrame:
    began = (
        "coalesce(began_micros, committed_micros -"
        f" {_UNTOLD_SECONDS * MICROS_PER_SECOND}) - {trace.clock_micros + COMMIT_CLOCK_MICROS}"
    )
    asked = of_present_topic(trace["commits"], trace, "committed_micros").selectExpr(
        *_ASKED,
        "offset",
        "committed_epoch",
        "outcome",
        "committed_micros - began_micros as took_micros",
        f"{began} as asked_first",
        f"committed_micros + {trace.clock_micros} as asked_last",
    )
    kept = (
        asked.join(_stored(trace), on=list(PARTITION), how="inner")
        .where(_IS_EQUAL)
        .where("stored_micros between asked_first and asked_last")
        .select(*_ASKED, F.expr("true").alias("is_kept"))
        .distinct()
    )
    return asked.join(kept, on=list(_ASKED), how="left").withColumn(
        "is_kept", F.coalesce("is_kept", F.expr("false"))
    )


def _stored(trace: Trace) -> DataFrame:
    """Stored commits of groups whose commits are in the history, without those of transactions."""
    return (
        all_offsets(trace)
        .where("not is_tombstone and coalesce(producer_id < 0, true)")
        .join(trace["commits"].select("group").distinct(), on="group", how="left_semi")
        .select(
            *COMMIT,
            F.col("offset").alias("stored_offset"),
            F.col("committed_epoch").alias("stored_epoch"),
            F.col("committed_micros").alias("stored_micros"),
        )
    )


def _unexplained(trace: Trace, asked: DataFrame) -> DataFrame:
    """Stored commits that no client asked for so, with is_of_control.

    is_of_control: the epoch is that of the control record before the offset, which clients commit
    and do not report.
    """
    explained = (
        _stored(trace)
        .join(asked.where("outcome in ('ok', 'unknown')"), on=list(PARTITION), how="inner")
        .where(_IS_EQUAL)
        .where("stored_micros >= asked_first")
        .where("outcome = 'unknown' or stored_micros <= asked_last")
        .select(*COMMIT)
        .distinct()
    )
    controls = (
        stored_commits(trace)
        .where("is_after_control and committed_epoch = logged_epoch")
        .select(*COMMIT, F.expr("true").alias("is_of_control"))
        .distinct()
    )
    return (
        _stored(trace)
        .join(explained, on=list(COMMIT), how="left_anti")
        .join(controls, on=list(COMMIT), how="left")
        .withColumn("is_of_control", F.coalesce("is_of_control", F.expr("false")))
    )


def divergence_mismatch(trace: Trace) -> CheckOutcome:
    """F: a LogTruncationException names an offset, or an epoch, at which no branches parted.

    Judged are exceptions with a divergent offset. It has to be where a newer leader epoch than the
    position's started, or the log start of that time where that is higher: retention raises the
    start of the oldest epoch to it. Its epoch, too, is of the leader's answer: the largest that is
    not above the requested one. Undecided where no source tells where a newer epoch started, or
    which epoch the position had. Source: KIP-320, `LeaderEpochFileCache.endOffsetFor`.
    """
    raised = with_position_epochs(
        of_present_topic(
            trace["group_events"].where("change = 'failed' and divergent_offset is not null"),
            trace,
            "at_micros",
        ),
        trace,
    )
    begun = (
        "filter(timeline, one -> one.leader_epoch > known_epoch"
        f" and coalesce(one.from_micros <= at_micros + {trace.clock_micros}, true))"
    )
    judged = (
        with_log_starts(raised, trace)
        .join(F.broadcast(timelines(trace)), on=list(_LOG), how="left")
        .selectExpr("*", f"{begun} as newer")
        .selectExpr(
            "*",
            f"size(filter(newer, one -> {_MAY_DIVERGE})) > 0 as may_be",
            "coalesce(size(newer) = 0, true) as is_untold",
            "array_min(transform(newer, one -> one.start_high)) as forked_at",
        )
    )
    is_above = "coalesce(asked_epoch >= 0 and divergent_epoch > asked_epoch, false)"
    found = judged.withColumn("is_above", F.expr(is_above)).where(
        "is_above or not coalesce(may_be, false)"
    )
    is_unsure = ~F.col("is_above") & (F.col("is_untold") | (F.col("known_epoch") < 0))
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "member",
                "position",
                "known_epoch",
                "divergent_offset",
                "divergent_epoch",
                "asked_epoch",
                "forked_at",
                "start_high",
            ),
            kind=F.when(is_unsure, "unknown fork")
            .when(F.col("is_above"), "newer epoch")
            .otherwise("elsewhere"),
            verdict=F.when(is_unsure, "undecided").otherwise("violation"),
            offset_first=F.col("divergent_offset"),
            offset_last=F.col("position"),
            at=F.col("at_micros"),
            cause=F.when(is_unsure, "no source tells where the position's epoch ended then")
            .when(
                F.col("is_above"),
                F.format_string(
                    "the exception names divergent epoch %s; epoch %s was asked for, and the"
                    " answer is the largest epoch not above it",
                    "divergent_epoch",
                    "asked_epoch",
                ),
            )
            .otherwise(
                F.format_string(
                    "the exception names divergent offset %s; the log left epoch %s at %s",
                    "divergent_offset",
                    "known_epoch",
                    "forked_at",
                )
            ),
        ),
        count(judged),
    )


_MAY_DIVERGE = (
    "divergent_offset >= greatest(coalesce(one.start_low, 0), start_low)"
    " and (one.start_high is null or divergent_offset <= greatest(one.start_high, start_high))"
)
"""Whether the divergent offset lies within the bounds of where a newer epoch started."""


def with_position_epochs(raised: DataFrame, trace: Trace) -> DataFrame:
    """_FAILED, divergent_epoch, known_epoch: the position's; -1 where nothing tells it.

    asked_epoch: the largest of those that the client may have asked about; null if none is told.

    The exception's own, else that of the record before as the group was delivered it, else that
    which the group had committed with the position.
    """
    before = raised.where("position is not null").selectExpr(
        *_FAILED[:5], "at_micros as raised_micros", "position - 1 as offset"
    )
    read = (
        given_at(before, trace)
        .where("at_micros <= raised_micros and leader_epoch >= 0")
        .groupBy(*_ASKED)
        .agg(F.max_by("leader_epoch", "at_micros").alias("read_epoch"))
    )
    committed = (
        raised.select(*_ASKED, "at_micros", F.col("position").alias("offset"))
        .join(
            offsets_of(trace).select(*PARTITION, "offset", "committed_epoch", "committed_micros"),
            on=[*PARTITION, "offset"],
            how="inner",
        )
        .where("committed_micros <= at_micros and committed_epoch >= 0")
        .groupBy(*_ASKED)
        .agg(F.max_by("committed_epoch", "committed_micros").alias("stored_epoch"))
    )
    return (
        raised.join(trace.materialized(read, is_close=True), on=list(_ASKED), how="left")
        .join(committed, on=list(_ASKED), how="left")
        .selectExpr(
            *_FAILED,
            "divergent_epoch",
            "greatest(position_epoch, read_epoch, stored_epoch) as asked_epoch",
            "coalesce(if(position_epoch >= 0, position_epoch, null), read_epoch, stored_epoch, -1)"
            " as known_epoch",
        )
    )
