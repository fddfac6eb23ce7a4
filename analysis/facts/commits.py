"""The stored commits, each with what can be known of its offset: what several checks judge.

What was committed is taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window, literal
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import COMMIT, COMMIT_CLOCK_MICROS, asked_between
from analysis.facts.declared import OF_GROUP, each, of_table
from analysis.facts.positions import PARTITION, all_offsets, offsets_of
from analysis.facts.slices import given_at, logged_at
from analysis.facts.state import was_there, with_timelines
from analysis.facts.topics import of_present_topic, with_former_topic
from analysis.facts.trace import Trace, fact
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


@fact(
    *OF_COMMIT,
    int64("offset"),
    int32("committed_epoch"),
    int64("committed_micros"),
    boolean("is_transactional"),
    int64(
        "previous_offset",
        "of the commit before of that group and partition, if both came by a transaction or"
        " neither; null after a tombstone",
    ),
    int32("previous_epoch", "null where an administrator set it"),
    int64("previous_micros"),
    int32(
        "polled_epoch",
        "of the record before (offset - 1), as the group was delivered it last before the commit",
    ),
    int64("polled_at"),
    boolean(
        "is_of_former",
        "whether the group was delivered the record before only by a topic that had the name"
        " before this one was created",
    ),
    int32(
        "logged_epoch",
        "of the record before, as the surviving log has it, control batches included; null if it"
        " was not there when the commit was stored",
    ),
    int32("replaced_by", "the epoch of the record that the surviving log has there since"),
    int32("record_epoch", "polled_epoch, or else logged_epoch"),
    boolean(
        "is_unclear",
        "whether a delivery of the record before may have been before the commit or after it, as"
        " clocks were apart",
    ),
    boolean(
        "is_after_control",
        "whether the record before is a control record, which is never delivered",
    ),
    int32("led_epoch", "the partition's leader epoch when the commit was stored"),
    string("commit_epoch", "the group's way to choose an epoch, by the plan"),
    boolean(
        "could_know",
        "whether the group had an epoch to commit: it polled the record before since it was"
        " opened last, had committed that offset with an epoch just before, or gets its epochs"
        " from elsewhere than its records",
    ),
)
def stored_commits(trace: Trace) -> Frame:
    """Commits of clients that survived, about topics as they are at the end; no tombstones.

    Those of administrators are left out, and those by which a member repeats what one has set: it
    did not read to that offset, and has the epoch from there.
    """
    in_order = Window.partitionBy(*PARTITION, F.expr("coalesce(producer_id >= 0, false)")).orderBy(
        "offsets_offset", "committed_micros"
    )
    repeating = Window.partitionBy(*PARTITION, "offset", "committed_epoch").orderBy(
        "offsets_offset", "committed_micros"
    )
    could_know = (
        (F.col("polled_at") - trace.jump_micros >= F.coalesce("opened_at", F.lit(0)))
        | ~F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD))).isin(*OF_RECORDS)
        | ((F.col("previous_offset") == F.col("offset")) & (F.col("previous_epoch") >= 0))
    )
    commits = (
        offsets_of(trace)
        .withColumn("is_set", F.max(F.expr("actor <=> 'administrator'")).over(repeating))
        .withColumn("previous_offset", F.lag("offset").over(in_order))
        .withColumn(
            "previous_epoch", F.lag(F.expr("if(is_set, null, committed_epoch)")).over(in_order)
        )
        .withColumn("previous_micros", F.lag("committed_micros").over(in_order))
        .where("not is_tombstone and not is_set")
        .withColumn("before", F.col("offset") - 1)
        .withColumn("until", F.col("committed_micros") + COMMIT_CLOCK_MICROS)
    )
    points = commits.select(
        *COMMIT, "until", "by_member", "by_seq", F.col("before").alias("offset")
    )
    skew = trace.skew_micros
    as_polled = (
        with_former_topic(given_at(points, trace), trace, "at_micros")
        .withColumn("is_ordered", F.expr("coalesce(member = by_member, false)"))
        .where(f"if(is_ordered, seq < by_seq, at_micros < until + {skew})")
        .groupBy(*COMMIT)
        .agg(
            F.expr(
                "max_by(leader_epoch, struct(is_ordered, if(is_ordered, seq, at_micros)))"
                " filter (where not is_of_former)"
            ).alias("polled_epoch"),
            F.expr("max(at_micros) filter (where not is_of_former)").alias("polled_at"),
            F.expr(f"max(not is_ordered and at_micros >= until - {skew})").alias("is_unclear"),
        )
        .withColumn("is_of_former", F.expr("polled_at is null"))
    )
    openings = (
        trace["group_events"]
        .where("change = 'opened'")
        .select("group", F.col("at_micros").alias("opened_micros"))
    )
    opened_then = (
        commits.join(openings, on="group", how="inner")
        .where("opened_micros <= committed_micros")
        .groupBy(*COMMIT)
        .agg(F.max("opened_micros").alias("opened_at"))
    )
    logged = (
        logged_at(points, trace)
        .withColumn("is_control", F.expr("false"))
        .union(_control_records(trace))
        .groupBy("topic", "partition", F.col("offset").alias("before"))
        .agg(
            F.max("leader_epoch").alias("logged_epoch"),
            F.max("is_control").alias("is_after_control"),
        )
    )
    led = trace["leaderships"].select("topic", "partition", "leader_epoch", "at_micros")
    led_then = (
        commits.join(led, on=["topic", "partition"], how="inner")
        .where("at_micros < until")
        .groupBy(*COMMIT)
        .agg(F.max("leader_epoch").alias("led_epoch"))
    )
    is_there = was_there("logged_epoch", "before", "until")
    return (
        with_timelines(commits.join(as_polled, on=list(COMMIT), how="left"), trace)
        .join(logged, on=["topic", "partition", "before"], how="left")
        .withColumn("replaced_by", F.expr(f"if({is_there}, null, logged_epoch)"))
        .withColumn("logged_epoch", F.expr("if(replaced_by is null, logged_epoch, null)"))
        .join(led_then, on=list(COMMIT), how="left")
        .join(opened_then, on=list(COMMIT), how="left")
        .join(trace.groups.select("group", "commit_epoch"), on="group", how="left")
        .withColumn("record_epoch", F.coalesce("polled_epoch", "logged_epoch"))
        .withColumn("could_know", F.coalesce(could_know, F.lit(0) == 1))
        .withColumn("is_transactional", F.expr("coalesce(producer_id >= 0, false)"))
        .withColumn(
            "is_after_control", F.expr("coalesce(logged_epoch >= 0 and is_after_control, false)")
        )
        .withColumn("is_of_former", F.coalesce("is_of_former", F.expr("false")))
        .withColumn("is_unclear", F.coalesce("is_unclear", F.expr("false")))
    )


def _control_records(trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): of surviving replicas; a batch holds one."""
    return (
        trace["replica_batches"]
        .where("is_control")
        .join(trace.survivors, on=["topic", "partition", "broker"], how="left_semi")
        .selectExpr(
            "topic", "partition", "base_offset as offset", "leader_epoch", "true as is_control"
        )
    )


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
