"""Commits as clients report them, against the commits that the coordinator stored."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.commits import COMMIT, COMMIT_CLOCK_MICROS, OF_COMMIT, stored_commits
from analysis.facts.declared import OF_GROUP, each
from analysis.facts.offsets import all_offsets
from analysis.facts.positions import PARTITION
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, fact
from contract.table_columns import boolean, int32, int64, string
from contract.tables import MICROS_PER_SECOND

REPORT = (*PARTITION, "member", "seq")
"""Names a commit that a client reports."""
_UNTOLD_SECONDS = 30
"""A commit began at most so long before it was answered, in histories that do not record when."""
_IS_EQUAL = "stored_offset = offset and stored_epoch = committed_epoch"
_ASKED = ("kind", "member", "seq", "outcome", "asked_offset", "asked_epoch", "took_micros")
_OF_ASKED = """
    struct(kind, member, seq, outcome, offset as asked_offset, committed_epoch as asked_epoch,
        took_micros)
"""


@fact(
    *OF_COMMIT,
    int64("stored_offset"),
    int32("stored_epoch"),
    int64("stored_micros"),
    string(
        "kind",
        "`epoch`, `offset`, `stored though it failed`, `stored though there was nothing`; null"
        " where no report is of that time",
    ),
    string("member", "of the nearest report, as what follows"),
    int64("seq"),
    string("outcome"),
    int64("asked_offset"),
    int32("asked_epoch"),
    int64("took_micros"),
)
def stored_otherwise(trace: Trace) -> Frame:
    """Stored commits that no client asked for so, each with the report that it differs from."""
    asked = asked_commits(trace)
    key = (*COMMIT, "stored_offset", "stored_epoch", "stored_micros")
    return (
        _unexplained(trace, asked)
        .join(asked, on=list(PARTITION), how="left")
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
            ).alias("nearest"),
            F.max(F.expr("is_then and is_of_control and stored_offset = offset")).alias(
                "is_of_control_record"
            ),
        )
        .where("nearest is not null or not coalesce(is_of_control_record, false)")
        .select(*key, *(f"nearest.{name}" for name in _ASKED))
    )


@fact(
    *OF_GROUP,
    string("member"),
    *each(int64, "seq offset"),
    int32("committed_epoch"),
    string("outcome"),
    int64("took_micros"),
    int64("asked_first", "from when on it may have been stored"),
    int64("asked_last", "until when"),
    boolean("is_kept", "whether the coordinators' log has it as it was asked for"),
)
def asked_commits(trace: Trace) -> Frame:
    """Commits as clients report them, and when they may have been stored."""
    began = (
        "coalesce(began_micros, committed_micros -"
        f" {_UNTOLD_SECONDS * MICROS_PER_SECOND}) - {trace.clock_micros + COMMIT_CLOCK_MICROS}"
    )
    asked = of_present_topic(trace["commits"], trace, "committed_micros").selectExpr(
        *REPORT,
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
        .select(*REPORT, F.expr("true").alias("is_kept"))
        .distinct()
    )
    return asked.join(kept, on=list(REPORT), how="left").withColumn(
        "is_kept", F.coalesce("is_kept", F.expr("false"))
    )


def _stored(trace: Trace) -> Frame:
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


def _unexplained(trace: Trace, asked: Frame) -> Frame:
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
