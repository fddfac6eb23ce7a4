"""A partition's log is a tree of leader epochs: which branch survived, and what was abandoned.

The surviving branch is what the leader-epoch-checkpoints of the surviving replicas hold. A record
(offset, epoch) lies on an abandoned branch if a later epoch starts at or below its offset there.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.acknowledgements import lost
from analysis.facts.declared import LOG, each
from analysis.facts.deliveries import deliveries
from analysis.facts.leader_epochs import fork_of
from analysis.facts.positions import PARTITION
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")
_FIRST = "struct(at_micros, seq, first_place)"
_LAST = "struct(at_micros, seq, last_place)"


@fact(
    *LOG,
    string("group"),
    int32("epoch"),
    *each(int64, "offset_min offset_max"),
    int64("first_offset", "in the order of delivery"),
    int64("last_offset", "likewise"),
    *each(int64, "first_micros last_micros"),
    int64("forked_at", "where the surviving branch leaves the epoch; null if it does not"),
)
def reads(trace: Trace) -> Frame:
    """What each group was delivered of each epoch, with the fork where that epoch ends.

    Records whose epoch the client does not report are left out.
    """
    return (
        deliveries(trace)
        .where("leader_epoch >= 0")
        .groupBy(*PARTITION, F.col("leader_epoch").alias("epoch"))
        .agg(
            F.min("first_offset").alias("offset_min"),
            F.max("last_offset").alias("offset_max"),
            F.expr(f"min_by(first_offset, {_FIRST})").alias("first_offset"),
            F.expr(f"max_by(last_offset, {_LAST})").alias("last_offset"),
            F.min("at_micros").alias("first_micros"),
            F.max("at_micros").alias("last_micros"),
        )
        .join(trace.epoch_starts, on=list(_LOG), how="left")
        .selectExpr("*", f"{fork_of('epoch')} as forked_at")
    )


@fact(
    *LOG,
    int32("epoch"),
    int64("forked_at", "its first truncated offset"),
    int64("reached", "the end of what is known to have been there, exclusive"),
    string(
        "reached_by",
        "`replica`, `poll`, `sample` or `acknowledgement`: the first of those that reach furthest",
    ),
)
def abandoned(trace: Trace) -> Frame:
    """The branches that a truncation removed.

    Known is what any replica still holds, surviving or not, or held when a fault on its server
    ended, what any group was delivered, which acknowledged records were lost, and which end a
    leader reported (its high watermark). What no source saw is left out.
    """
    in_replicas = (
        trace["replica_batches"]
        .select(*_LOG, "leader_epoch", "last_offset")
        .union(trace["cut_batches"].select(*_LOG, "leader_epoch", "last_offset"))
        .groupBy(*_LOG, F.col("leader_epoch").alias("epoch"))
        .agg((F.max("last_offset") + 1).alias("reached"))
        .selectExpr("*", "3 as rank", "'replica' as reached_by")
    )
    in_polls = (
        reads(trace)
        .groupBy(*_LOG, "epoch")
        .agg((F.max("offset_max") + 1).alias("reached"))
        .selectExpr("*", "2 as rank", "'poll' as reached_by")
    )
    in_samples = (
        trace["samples"]
        .where("broker = leader and log_end_offset > 0")
        .groupBy(*_LOG, F.col("leader_epoch").alias("epoch"))
        .agg(F.max("log_end_offset").alias("reached"))
        .selectExpr("*", "1 as rank", "'sample' as reached_by")
    )
    in_acknowledgements = (
        lost(trace)
        .groupBy(*_LOG, F.col("acknowledged_epoch").alias("epoch"))
        .agg((F.max("last_offset") + 1).alias("reached"))
        .selectExpr("*", "0 as rank", "'acknowledgement' as reached_by")
    )
    return (
        in_replicas.union(in_polls)
        .union(in_samples)
        .union(in_acknowledgements)
        .where("epoch >= 0")
        .groupBy(*_LOG, "epoch")
        .agg(F.expr("max(struct(reached, rank, reached_by))").alias("furthest"))
        .join(trace.epoch_starts, on=list(_LOG), how="inner")
        .selectExpr(
            *_LOG,
            "epoch",
            f"{fork_of('epoch')} as forked_at",
            "furthest.reached",
            "furthest.reached_by",
        )
        .where("reached > forked_at")
    )
