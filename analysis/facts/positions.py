"""What groups committed, how far each of them got, and from where on.

A replica of `__consumer_offsets` on a broker that never returned may hold commits that its
partition has lost. What a group resumes from is in the log of the last in-sync replicas.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import OFFSETS_TOPIC, STORED, client_offsets
from analysis.facts.declared import OF_GROUP, each
from analysis.facts.deliveries import client_resets, deliveries
from analysis.facts.topics import (
    created_again,
    creations,
    of_present_topic,
    with_log_starts,
)
from analysis.facts.trace import IS_STORED, Trace, fact, view
from contract.outcomes import ResetPolicy
from contract.table_columns import boolean, int32, int64, string

PARTITION = ("group", "topic", "partition")
_ENDINGS = ("caught_up", "stalled", "failed")
IN_LOG = "struct(offsets_partition, offsets_offset, committed_micros)"
"""SQL: sorts the commits of a group, as they follow each other in the surviving log."""


@view(
    string("group"),
    string(
        "last_change",
        "`polled` where nothing was reported after the last poll: the member was killed",
    ),
    string("last_member"),
)
def endings(trace: Trace) -> Frame:
    """How each group ended last."""
    reported = trace["group_events"].where(F.col("change").isin(*_ENDINGS))
    polled = deliveries(trace).select(
        "group", "member", F.lit("polled").alias("change"), "at_micros", "seq"
    )
    return (
        reported.select(*polled.columns)
        .union(polled)
        .groupBy("group")
        .agg(
            F.max_by("change", F.struct("at_micros", "seq")).alias("last_change"),
            F.max_by("member", F.struct("at_micros", "seq")).alias("last_member"),
        )
    )


@view(
    *OF_GROUP,
    int64("position", "the last one that it reported, or the one after its last poll"),
    int64("seen_micros", "when"),
    boolean("is_polled", "whether it was killed before it reported one"),
)
def positions(trace: Trace) -> Frame:
    """How far each group went, however it ended."""
    reported = (
        of_present_topic(trace["group_events"], trace, "at_micros")
        .where(F.col("change").isin("caught_up", "stalled") & F.col("position").isNotNull())
        .select(
            *PARTITION,
            "position",
            F.struct("at_micros", "seq").alias("moment"),
            F.lit(0).alias("polled"),
        )
    )
    polled = of_present_topic(deliveries(trace), trace, "at_micros").select(
        *PARTITION,
        (F.col("last_offset") + 1).alias("position"),
        F.struct("at_micros", "seq").alias("moment"),
        F.lit(1).alias("polled"),
    )
    last = F.struct("moment", "position")
    return (
        reported.union(polled)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("position", last).alias("position"),
            F.max("moment.at_micros").alias("seen_micros"),
            (F.max_by("polled", last) == 1).alias("is_polled"),
        )
    )


@view(*STORED)
def offsets_of(trace: Trace) -> Frame:
    """Rows of `committed_offsets` in the surviving log, about topics as they are at the end."""
    return all_offsets(trace).where("survives")


@fact(
    *STORED,
    boolean(
        "survives",
        "whether a replica in the last ISR of its partition holds it, or that is not known",
    ),
)
def all_offsets(trace: Trace) -> Frame:
    """Rows of `committed_offsets` about topics as they are at the end."""
    last_isr = (
        trace["leaderships"]
        .where(f"topic = '{OFFSETS_TOPIC}'")
        .groupBy(F.col("partition").alias("offsets_partition"))
        .agg(F.max_by("isr", "metadata_offset").alias("_isr"))
    )
    return (
        of_present_topic(client_offsets(trace), trace, "committed_micros")
        .join(last_isr, on="offsets_partition", how="left")
        .withColumn(
            "survives",
            F.expr("coalesce(size(_isr) = 0 or arrays_overlap(brokers, _isr), true)"),
        )
    )


@fact(
    *OF_GROUP,
    int64("moved_from", "what the group itself had committed last; 0 without a commit"),
    *each(int64, "offset committed_micros"),
    int32("committed_epoch"),
    int64("until_micros", "of the next commit of the group and partition; null if there is none"),
)
def administered(trace: Trace) -> Frame:
    """Where administrators set the committed offsets of groups."""
    in_log = Window.partitionBy(*PARTITION).orderBy("offsets_offset", "committed_micros")
    before = in_log.rowsBetween(Window.unboundedPreceding, -1)
    own = F.expr("if(actor <=> 'administrator', null, offset)")
    return (
        offsets_of(trace)
        .withColumn("moved_from", F.coalesce(F.last(own, ignorenulls=True).over(before), F.lit(0)))
        .withColumn("until_micros", F.lead("committed_micros").over(in_log))
        .where("actor = 'administrator'")
    )


@fact(
    *OF_GROUP,
    *each(string, "member commit_epoch"),
    int64("at_micros"),
    int64("position", "after what it was delivered last"),
    int32("record_epoch", "of the last record"),
    int64("stored_offset", "of the group then; null without a commit"),
    int32("stored_epoch"),
)
def withheld_commits(trace: Trace) -> Frame:
    """Commits that stored nothing, though their member was delivered records since the last one.

    Left out are those at a position that was stored, and those after a reset, whose position is
    another.
    """
    asked = (
        trace["commits"]
        .where("outcome = 'nothing'")
        .selectExpr(*PARTITION, "member", "seq", "commit_epoch", "committed_micros as at_micros")
    )
    of_member = (*PARTITION, "member")
    settled = (
        trace["commits"]
        .where("outcome = 'ok'")
        .select(*of_member, F.col("seq").alias("settled"))
        .union(
            trace["group_events"]
            .where("change in ('assigned', 'revoked', 'lost')")
            .select(*of_member, F.col("seq").alias("settled"))
        )
    )
    delivered = deliveries(trace).selectExpr(
        *of_member,
        "seq as given",
        "struct(last_offset + 1 as position, leader_epoch as record_epoch, at_micros, seq) as last",
        "struct(seq, last_place) as in_order",
    )
    moved = (
        asked.join(delivered, on=list(of_member), how="inner")
        .where("given < seq")
        .groupBy(*asked.columns)
        .agg(F.max_by("last", "in_order").alias("last"))
    )
    since = (
        moved.join(settled, on=list(of_member), how="left")
        .where("settled is null or settled < seq")
        .groupBy(*moved.columns)
        .agg(F.max("settled").alias("settled"))
        .where("settled is null or settled < last.seq")
        .drop("settled")
    )
    reset = (
        client_resets(trace)
        .select(*of_member, F.col("at_micros").alias("reset_micros"))
        .join(since, on=list(of_member), how="inner")
        .where("reset_micros between last.at_micros and at_micros")
        .select(*of_member, "seq")
        .distinct()
    )
    stored = (
        client_offsets(trace)
        .where(IS_STORED)
        .selectExpr(
            *PARTITION,
            "struct(offset as stored_offset, committed_epoch as stored_epoch) as stored",
            "committed_micros",
            f"{IN_LOG} as in_log",
        )
    )
    return (
        since.join(reset, on=[*of_member, "seq"], how="left_anti")
        .join(stored, on=list(PARTITION), how="left")
        .groupBy(*since.columns)
        .agg(
            F.expr(
                "max_by(stored, in_log) filter (where committed_micros <= at_micros"
                f" + {trace.skew_micros})"
            ).alias("stored")
        )
        .selectExpr(
            *of_member,
            "commit_epoch",
            "at_micros",
            "last.position as position",
            "last.record_epoch as record_epoch",
            "stored.stored_offset as stored_offset",
            "stored.stored_epoch as stored_epoch",
        )
        .where("not stored_offset <=> position")
    )


def last_commits(rows: Frame) -> Frame:
    """The last of the stored commits, by group, topic, partition.

    Offsets that a transaction sent count once its commit marker is stored.

    Args:
        rows: of `offsets_of`.

    Returns:
        group, topic, partition, committed_offset, committed_epoch, committed_micros.
    """
    return (
        rows.where(IS_STORED)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("offset", F.expr(IN_LOG)).alias("committed_offset"),
            F.max_by("committed_epoch", F.expr(IN_LOG)).alias("committed_epoch"),
            F.max_by("committed_micros", F.expr(IN_LOG)).alias("committed_micros"),
        )
    )


@fact(*OF_GROUP, int64("first_offset"))
def beginnings(trace: Trace) -> Frame:
    """Where each group that was delivered anything began.

    That is its first position, the first offset delivered to it, or the one to which its last reset
    for want of a commit put it before that delivery, whichever is lowest. A group with
    `auto.offset.reset=earliest`, no commit and no reset before its first delivery began at the log
    start of that time. On a partition of which nothing was delivered to it, it began at its first
    position.

    A group that was delivered records of an earlier topic of that name began at offset 0: all of
    the present topic was written while the group was there.
    """
    delivered = (
        of_present_topic(deliveries(trace), trace, "at_micros")
        .groupBy(*PARTITION)
        .agg(F.min("first_offset").alias("delivered"), F.min("at_micros").alias("at_micros"))
    )
    assigned = (
        of_present_topic(trace["group_events"], trace, "at_micros")
        .where("change = 'assigned' and position is not null")
        .groupBy(*PARTITION)
        .agg(F.min_by("position", F.struct("at_micros", "seq")).alias("assigned"))
    )
    # What a group resumed from, or was reset to, before its first delivery.
    led = (
        offsets_of(trace)
        .select(*PARTITION, F.col("committed_micros").alias("led_micros"))
        .union(client_resets(trace).select(*PARTITION, F.col("at_micros").alias("led_micros")))
        .groupBy(*PARTITION)
        .agg(F.min("led_micros").alias("led_micros"))
    )
    put = (
        of_present_topic(client_resets(trace), trace, "at_micros")
        .where("cause = 'no_commit' and to_offset >= 0")
        .select(*PARTITION, "to_offset", F.col("at_micros").alias("put_micros"))
        .join(delivered.select(*PARTITION, "at_micros"), on=list(PARTITION), how="inner")
        .where("put_micros <= at_micros")
        .groupBy(*PARTITION)
        .agg(F.max_by("to_offset", "put_micros").alias("put_to"))
    )
    policies = trace.groups.select("group", "reset")
    is_at_start = f"reset = '{ResetPolicy.EARLIEST}' and coalesce(led_micros > at_micros, true)"
    undelivered = assigned.join(
        delivered.select("group").distinct(), on="group", how="left_semi"
    ).join(delivered, on=list(PARTITION), how="left_anti")
    began = (
        with_log_starts(delivered, trace)
        .join(assigned, on=list(PARTITION), how="left")
        .join(led, on=list(PARTITION), how="left")
        .join(put, on=list(PARTITION), how="left")
        .join(policies, on="group", how="left")
        .selectExpr(
            *PARTITION,
            f"least(delivered, assigned, put_to, if({is_at_start}, start_high, null))"
            " as first_offset",
        )
    )
    found = began.union(undelivered.selectExpr(*PARTITION, "assigned as first_offset"))
    earlier = _of_earlier_topics(trace)
    if earlier is None:
        return found
    return found.join(earlier, on=list(PARTITION), how="left_anti").union(
        earlier.selectExpr(*PARTITION, "0L as first_offset")
    )


def _of_earlier_topics(trace: Trace) -> Frame | None:
    """(group, topic, partition): what groups were delivered of topics that were created again.

    None if no topic was.
    """
    again = created_again(trace)
    if trace.once("no topic was created again", again.isEmpty):
        return None
    began = (
        creations(trace)
        .where("is_last")
        .join(again, on=["topic", "partition"], how="left_semi")
        .select("topic", "partition", "created_micros")
    )
    return (
        deliveries(trace)
        .join(began, on=["topic", "partition"], how="inner")
        .where("at_micros < created_micros")
        .select(*PARTITION)
        .distinct()
    )
