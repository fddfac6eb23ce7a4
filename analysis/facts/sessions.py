"""The order in which records were delivered to each member, and where its reading started over.

A member of a group is one incarnation of a consumer (`group#number`). Within it, reading starts
over where the member was assigned or lost the partition, where its client reset it, and where it
raised. The order of records is promised between two such moments only.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each
from analysis.facts.deliveries import deliveries
from analysis.facts.trace import Trace, fact
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
        .select(
            *_LIFE,
            "seq",
            "first_offset",
            "last_offset",
            "first_epoch",
            "last_epoch",
            "at_micros",
            F.col("_before.seq").alias("prev_seq"),
            F.col("_before.last_offset").alias("prev_offset"),
            F.col("_before.last_epoch").alias("prev_epoch"),
            F.col("_before.at_micros").alias("prev_micros"),
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
        trace["resets"]
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
