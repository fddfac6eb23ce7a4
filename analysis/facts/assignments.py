"""Who read a partition for its group, from its assignment on: what checks of groups judge."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import OF_GROUP, each
from analysis.facts.deliveries import deliveries
from analysis.facts.positions import IN_LOG, PARTITION, all_offsets
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64, string

ASSIGNMENT = (*PARTITION, "member", "from_seq")
_ASSIGNMENT = (*OF_GROUP, string("member"), int64("from_seq"))
_IN_ORDER = "struct(seq, first_place)"
_NEVER = (1 << 63) - 1


@fact(
    *_ASSIGNMENT,
    int64("from_micros", "when it was noticed"),
    int64("position", "of the member then, after its first poll"),
    int32("generation", "of the group, or the member's epoch; -1 where not known"),
    int64(
        "left_micros",
        "when the member noticed that it was revoked or lost, or closed; null if it never did",
    ),
    int64("first_offset", "of what was delivered to it; null where nothing was"),
    *each(int64, "first_micros last_micros"),
    int64(
        "before_micros",
        "the last that is known of the member's assignment before; null if none was",
    ),
)
def assignments(trace: Trace) -> Frame:
    """One row per assignment of a partition to a member, as the member noticed it."""
    by_member = Window.partitionBy(*PARTITION, "member").orderBy("seq")
    assigned = (
        trace["group_events"]
        .where("change = 'assigned'")
        .select(
            *PARTITION,
            "member",
            F.col("seq").alias("from_seq"),
            F.col("at_micros").alias("from_micros"),
            "position",
            F.coalesce("generation", F.lit(-1)).alias("generation"),
            F.lead("seq").over(by_member).alias("next_seq"),
        )
    )
    left = (
        trace["group_events"]
        .where("change in ('revoked', 'lost', 'closed')")
        .selectExpr(
            "group",
            "member",
            "if(change = 'closed', null, topic) as left_topic",
            "if(change = 'closed', null, partition) as left_partition",
            "seq as left_seq",
            "at_micros as left_at",
        )
    )
    is_its_end = (
        "left_seq > from_seq and (next_seq is null or left_seq < next_seq)"
        " and coalesce(left_topic = topic and left_partition = partition, true)"
    )
    ended = (
        assigned.join(left, on=["group", "member"], how="inner")
        .where(is_its_end)
        .groupBy(*ASSIGNMENT)
        .agg(F.min("left_at").alias("left_micros"))
    )
    served = (
        deliveries(trace)
        .select(
            *PARTITION, "member", "first_offset", "at_micros", F.expr(f"{_IN_ORDER} as in_order")
        )
        .join(
            assigned.select(*ASSIGNMENT, "next_seq"),
            on=[*PARTITION, "member"],
            how="inner",
        )
        .where("in_order.seq >= from_seq and (next_seq is null or in_order.seq < next_seq)")
        .groupBy(*ASSIGNMENT)
        .agg(
            F.min_by("first_offset", "in_order").alias("first_offset"),
            F.min("at_micros").alias("first_micros"),
            F.max("at_micros").alias("last_micros"),
        )
    )
    return (
        assigned.drop("next_seq")
        .join(ended, on=list(ASSIGNMENT), how="left")
        .join(served, on=list(ASSIGNMENT), how="left")
        .withColumn("_last", F.greatest("from_micros", "left_micros", "last_micros"))
        .withColumn(
            "before_micros",
            F.lag("_last").over(Window.partitionBy(*PARTITION, "member").orderBy("from_seq")),
        )
    )


@fact(*OF_GROUP, string("member"), int64("owned_micros", "from when on"))
def ownerships(trace: Trace) -> Frame:
    """When a member came to own a partition: a later assignment of what it keeps is none."""
    of_member = Window.partitionBy(*PARTITION, "member").orderBy("seq")
    lost = F.expr("int(change in ('revoked', 'lost'))")
    return (
        trace["group_events"]
        .where("change in ('assigned', 'revoked', 'lost')")
        .withColumn("_number", F.sum(lost).over(of_member))
        .where("change = 'assigned'")
        .groupBy(*PARTITION, "member", "_number")
        .agg(F.min("at_micros").alias("owned_micros"))
    )


@fact(
    *_ASSIGNMENT,
    *each(int64, "from_micros before_micros position first_offset first_micros committed_offset"),
    int32("committed_epoch"),
    int64("committed_micros"),
    int64(
        "gone_offset",
        "of a later commit until then that did not survive in the coordinators' log; null if"
        " there was none",
    ),
)
def commits_at_start(trace: Trace) -> Frame:
    """The assignments that began with a commit, and which one stood then.

    What a transaction committed counts from its marker on, if that was before the member was
    opened: no response to the member is older. What was aborted stood never. Left out are
    assignments of which it is not known whether a commit was before them, as clocks were apart or
    as a transaction of the group ended later, or is not known to have ended. The columns up to
    first_micros are those of `assignments`.
    """
    skew = trace.skew_micros
    stored = (
        all_offsets(trace)
        .where("not marker <=> 'abort'")
        .select(
            *PARTITION,
            "by_member",
            "by_seq",
            "committed_micros",
            "survives",
            F.expr(IN_LOG).alias("in_log"),
            F.struct(
                F.col("offset").alias("committed_offset"), "committed_epoch", "committed_micros"
            ).alias("commit"),
            F.expr("coalesce(producer_id >= 0, false)").alias("is_transactional"),
            F.expr(f"coalesce(marker_micros, {_NEVER})").alias("marked_micros"),
        )
    )
    opened = (
        trace["group_events"]
        .where("change = 'opened'")
        .groupBy("group", "member")
        .agg(F.min("at_micros").alias("opened_micros"))
    )
    began = assignments(trace).select(
        *ASSIGNMENT, "from_micros", "before_micros", "position", "first_offset", "first_micros"
    )
    is_late = f"coalesce(marked_micros > opened_micros - {skew}, true)"
    return (
        began.join(opened, on=["group", "member"], how="left")
        .join(stored, on=list(PARTITION), how="inner")
        .withColumn("is_ordered", F.expr("coalesce(by_member = member, false)"))
        .where(f"if(is_ordered, by_seq < from_seq, committed_micros <= from_micros + {skew})")
        .groupBy(*began.columns)
        .agg(
            F.expr("max_by(commit, in_log) filter (where survives)").alias("commit"),
            F.expr("max_by(commit, committed_micros) filter (where not survives)").alias("gone"),
            F.expr(
                f"max(if(is_transactional, {is_late},"
                f" not is_ordered and committed_micros > from_micros - {skew}))"
            ).alias("is_unclear"),
        )
        .where("not is_unclear and commit.committed_offset is not null")
        .selectExpr(
            *began.columns,
            "commit.committed_offset",
            "commit.committed_epoch",
            "commit.committed_micros",
            "if(gone.committed_micros >= commit.committed_micros, gone.committed_offset, null)"
            " as gone_offset",
        )
    )
