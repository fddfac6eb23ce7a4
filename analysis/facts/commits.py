"""The stored commits, each with what can be known of its offset: what several checks judge.

What was committed is taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import COMMIT, asked_between
from analysis.facts.declared import OF_GROUP, each, of_table
from analysis.facts.positions import PARTITION, all_offsets
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace, fact
from analysis.statements.facts import fact_named
from contract.outcomes import CommitEpoch
from contract.table_columns import boolean, int32, int64, string

OF_COMMIT = of_table("committed_offsets", *COMMIT)
OF_RECORDS = (str(CommitEpoch.RECORD), str(CommitEpoch.APPLICATION))
"""Styles by which the epoch of the record before is committed."""
IS_CHOSEN = (
    f"coalesce(commit_epoch, '{CommitEpoch.RECORD}') not in ({', '.join(map(literal, OF_RECORDS))})"
)
"""The group's style of committing does not take the epoch of the record before."""
REPORT = (*PARTITION, "member", "seq")
"""Names a commit that a client reports."""
_IS_EQUAL = "stored_offset = offset and stored_epoch = committed_epoch"
_ASKED = ("kind", "member", "seq", "outcome", "asked_offset", "asked_epoch", "took_micros")
_OF_ASKED = """
    struct(kind, member, seq, outcome, offset as asked_offset, committed_epoch as asked_epoch,
        took_micros)
"""


def with_manner(rows: Frame, trace: Trace) -> Frame:
    """Add is_by_client: whether the group's client commits by itself, and reports no commit."""
    unreported = [one.group for one in trace.plan.groups if one.commits_by_itself]
    return rows.withColumn("is_by_client", F.col("group").isin(unreported))


stored_commits = fact_named("stored_commits")


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
    asked_first, asked_last = asked_between(trace, "committed_micros")
    asked = of_present_topic(trace["commits"], trace, "committed_micros").selectExpr(
        *REPORT,
        "offset",
        "committed_epoch",
        "outcome",
        "committed_micros - began_micros as took_micros",
        f"{asked_first} as asked_first",
        f"{asked_last} as asked_last",
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
    """Stored commits of groups whose commits are in the history.

    Without those of transactions and of administrators.
    """
    return (
        all_offsets(trace)
        .where("not is_tombstone and coalesce(actor not in ('transaction', 'administrator'), true)")
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

    Those of groups whose clients commit by themselves, and report nothing, are left out.
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
        with_manner(_stored(trace), trace)
        .where("not is_by_client")
        .drop("is_by_client")
        .join(explained, on=list(COMMIT), how="left_anti")
        .join(controls, on=list(COMMIT), how="left")
        .withColumn("is_of_control", F.coalesce("is_of_control", F.expr("false")))
    )
