"""The order in which records were delivered to each member, and where its reading started over.

A member of a group is one incarnation of a consumer (`group#number`). Within it, reading starts
over where the member was assigned or lost the partition, where its client reset it, and where it
raised. The order of records is promised between two such moments only.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import client_offsets
from analysis.facts.declared import LOG, SLICE, each
from analysis.facts.deliveries import client_resets, deliveries
from analysis.facts.slices import sliced
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import IS_STORED, Trace, fact, view
from contract.table_columns import MEMBER, boolean, int32, int64, string
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_LIFE = ("worker", "group", "member", *_LOG)
_RUN = (
    *MEMBER,
    *LOG,
    *each(int64, "seq first_offset last_offset"),
    *each(int32, "first_epoch last_epoch"),
    int64("at_micros"),
    int64("prev_seq", "of the run before in that incarnation; null in the first"),
    int64("prev_offset", "its last one"),
    int32("prev_epoch", "likewise"),
    int64("prev_micros"),
)
JUMPS = (
    *_RUN,
    boolean("is_anew", "whether reading started over in between"),
    int64("reset_to", "where a reset put the position; null without one"),
)
_LOG_CLOCK_MICROS = 1000
"""A line of a client's log has its time truncated to milliseconds."""
_RESET_LATE_MICROS = MICROS_PER_SECOND
"""A client may hand over the line about a reset so long after it went on."""
OUTAGE_SECONDS = 2
"""A wait of this length is an outage; a shorter one may be a slow machine."""
STALE_SECONDS = 2
"""A reader that stands so long before a record that was acknowledged reads a stale log."""
_STANDSTILL = (
    *each(string, "group member"),
    *LOG,
    int64("first_offset"),
    int64("since_micros", "its last poll before, or when it was assigned the partition"),
    int64("until_micros", "its last such commit"),
    int64("at_micros", "when it was given the run"),
)


@fact(*_RUN)
def runs(trace: Trace) -> Frame:
    """Records that one poll returned at consecutive offsets, as one row.

    Within a run nothing is out of order: in one poll, an offset less the record's place is the same
    for all of it. So a window over runs gives what one over all records would.
    """
    in_life = Window.partitionBy(*_LIFE).orderBy("seq", "_place", "first_offset")
    before = F.lag(F.struct("seq", "last_offset", "last_epoch", "at_micros")).over(in_life)
    return (
        deliveries(trace)
        .groupBy(*_LIFE, "seq", "_shift")
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.min("leader_epoch").alias("first_epoch"),
            F.max("leader_epoch").alias("last_epoch"),
            F.min("first_place").alias("_place"),
            F.min("at_micros").alias("at_micros"),
        )
        .withColumn("_before", before)
        .selectExpr(
            "*",
            "_before.seq as prev_seq",
            "_before.last_offset as prev_offset",
            "_before.last_epoch as prev_epoch",
            "_before.at_micros as prev_micros",
        )
    )


@fact(*JUMPS)
def jumps(trace: Trace) -> Frame:
    """The runs that do not begin where the one before ended."""
    jumped = trace.engine.materialized(runs(trace).where("first_offset != prev_offset + 1"))
    events = (
        trace["group_events"]
        .where("change in ('assigned', 'revoked', 'failed', 'opened')")
        .selectExpr("member as _member", "topic as _topic", "partition as _partition", "seq as _at")
    )
    resets = (
        client_resets(trace)
        .where("to_offset is not null")
        .selectExpr("member", *_LOG, "to_offset", "at_micros as _reset_micros")
    )
    return (
        jumped.join(
            events,
            on=F.expr(
                "_member = member and _at > prev_seq and _at < seq"
                " and (_partition < 0 or _partition = partition and _topic = topic)"
            ),
            how="left",
        )
        .join(resets, on=["member", *_LOG], how="left")
        .withColumn(
            "to_offset",
            F.expr(
                f"if(_reset_micros >= prev_micros - {_LOG_CLOCK_MICROS}"
                f" and _reset_micros <= at_micros + {_RESET_LATE_MICROS}"
                " and to_offset <= first_offset, to_offset, null)"
            ),
        )
        .groupBy(*jumped.columns)
        .agg(
            (F.count("_at") > 0).alias("is_anew"),
            F.max("to_offset").alias("reset_to"),
        )
    )


@fact(
    *each(string, "group member"),
    *LOG,
    int64("gap_first", "an offset"),
    int64("gap_last"),
    string("kind", "`within a poll` or `between polls`"),
    int32("prev_epoch", "of the record before"),
    int32("next_epoch", "of the one after"),
    int64("at_micros"),
)
def ranges_passed(trace: Trace) -> Frame:
    """What a member's position went past within a session, and was given nothing of."""
    return (
        jumps(trace)
        .where("not is_anew and first_offset > prev_offset")
        .select(
            "group",
            "member",
            *_LOG,
            F.greatest(F.col("prev_offset") + 1, "reset_to").alias("gap_first"),
            F.expr("first_offset - 1").alias("gap_last"),
            F.expr("if(seq = prev_seq, 'within a poll', 'between polls')").alias("kind"),
            "prev_epoch",
            F.col("first_epoch").alias("next_epoch"),
            "at_micros",
        )
        .where("gap_first <= gap_last")
    )


@view(
    *JUMPS,
    boolean(
        "is_commit",
        "whether it was the group's last commit at some time since the run before",
    ),
    boolean(
        "is_permitted",
        "it had, and the member went back there from one poll to the next, which a rebalance does"
        " that is over within one poll",
    ),
)
def moved_back(trace: Trace) -> Frame:
    """Rows of `jumps` that go back although reading did not start over."""
    back = jumps(trace).where("not is_anew and reset_to is null and first_offset <= prev_offset")
    in_order = Window.partitionBy("group", *_LOG).orderBy("committed_micros")
    stored = (
        client_offsets(trace)
        .where(IS_STORED)
        .select(
            "group",
            *_LOG,
            F.col("offset").alias("first_offset"),
            F.col("committed_micros").alias("_committed"),
            F.lead("committed_micros").over(in_order).alias("_replaced"),
        )
    )
    is_last = (
        f"_committed <= at_micros + {trace.clock_micros}"
        f" and coalesce(_replaced >= prev_micros - {trace.clock_micros}, true)"
    )
    return (
        back.join(stored, on=["group", *_LOG, "first_offset"], how="left")
        .groupBy(*back.columns)
        .agg(F.max(F.expr(f"coalesce({is_last}, false)")).alias("is_commit"))
        .withColumn("is_permitted", F.expr("is_commit and seq != prev_seq"))
    )


@fact(
    *LOG,
    *each(string, "group member kind"),
    *each(int32, "prev_epoch next_epoch"),
    int64("at_micros"),
    *SLICE,
)
def passed(trace: Trace) -> Frame:
    """The offsets of `ranges_passed` in slices."""
    return (
        sliced(ranges_passed(trace), trace, "gap_first", "gap_last")
        .drop("gap_first", "gap_last")
        .withColumnsRenamed({"slice_first": "offset", "slice_last": "last_offset"})
    )


def on_branch() -> Column:
    """Whether a record's `leader_epoch` fits between those of the records around what was passed.

    One of another branch was appended later, or truncated before.
    """
    return F.expr(
        "(prev_epoch < 0 or leader_epoch >= prev_epoch)"
        " and (next_epoch < 0 or leader_epoch <= next_epoch)"
    )


@fact(*_STANDSTILL)
def standstills(trace: Trace) -> Frame:
    """Runs before which their member stood at their first offset for STALE_SECONDS or more.

    That it did, and did not rest, is proved by its commits of that offset in between.
    """
    least = STALE_SECONDS * MICROS_PER_SECOND
    began = (
        trace["group_events"]
        .where("change = 'assigned'")
        .groupBy("member", *_LOG)
        .agg(F.min("at_micros").alias("began_micros"))
    )
    waited = (
        runs(trace)
        .join(began, on=["member", *_LOG], how="left")
        .withColumn("since_micros", F.coalesce("prev_micros", "began_micros"))
        .where(f"at_micros - since_micros >= {least}")
    )
    commits = trace["commits"].select(
        "member", *_LOG, F.col("offset").alias("first_offset"), "committed_micros"
    )
    return (
        waited.join(commits, on=["member", *_LOG, "first_offset"], how="inner")
        .where("committed_micros < at_micros")
        .groupBy("group", "member", *_LOG, "first_offset", "since_micros", "at_micros")
        .agg(F.max("committed_micros").alias("until_micros"))
        .where(f"until_micros - since_micros >= {least}")
    )


@view(*_STANDSTILL)
def reported_ends(trace: Trace) -> Frame:
    """Positions at which members reported that they caught up.

    A report is of one moment: since_micros is null, until_micros and at_micros are when it came.
    """
    return (
        of_present_topic(
            trace["group_events"].where("change = 'caught_up' and position is not null"),
            trace,
            "at_micros",
        )
        .select(
            "group",
            "member",
            *_LOG,
            F.col("position").alias("first_offset"),
            F.lit(None).cast("bigint").alias("since_micros"),
            F.col("at_micros").alias("until_micros"),
            "at_micros",
        )
        .distinct()
    )
