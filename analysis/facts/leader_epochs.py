"""Leader epochs: who led in each and until when, and where the surviving branch leaves each."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each, of_table
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import int32, int32s, int64

HEARD_SECONDS = 5
"""After so long, a broker has heard of a change in the metadata log, or serves no more."""

_LOG = ("topic", "partition")


@fact(
    *LOG,
    int32("epoch"),
    int32("broker", "its leader"),
    int64("from_micros"),
    int32("newer_epoch", "the next one; null of the last"),
    int64("until_micros", "when that began"),
)
def leader_epochs(trace: Trace) -> Frame:
    """Each leader epoch and the next one; a topic that was created again starts over."""
    in_log = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    led = trace["leaderships"].select(
        *_LOG,
        F.col("leader_epoch").alias("epoch"),
        F.col("leader").alias("broker"),
        F.col("at_micros").alias("from_micros"),
        "metadata_offset",
    )
    began = led.select("*", F.lag("epoch").over(in_log).alias("last_epoch")).where(
        "last_epoch is null or last_epoch != epoch"
    )
    return began.select(
        "*",
        F.lead("epoch").over(in_log).alias("next_epoch"),
        F.lead("from_micros").over(in_log).alias("next_micros"),
    ).selectExpr(
        *_LOG,
        "epoch",
        "broker",
        "from_micros",
        "if(next_epoch > epoch, next_epoch, null) as newer_epoch",
        "if(next_epoch > epoch, next_micros, null) as until_micros",
    )


def fork_of(epoch: str) -> str:
    """SQL: where the surviving branch leaves an epoch; null while no later epoch started.

    Offsets at or above it are not of that epoch or an older one. To be asked of rows that have
    `epochs` of `Trace.epoch_starts`. Where retention deleted later epochs, the oldest that remains
    starts at the log start, so the fork may be too high, never too low.

    Args:
        epoch: the column's name.
    """
    return (
        f"array_min(transform(filter(epochs, one -> one.leader_epoch > {epoch}),"
        " one -> one.start_offset))"
    )


@view(*of_table("leaderships"), int64("until_micros", "when the next row came; null of the last"))
def states(trace: Trace) -> Frame:
    """Rows of `leaderships`, and until when each held."""
    in_log = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    return trace["leaderships"].withColumn("until_micros", F.lead("at_micros").over(in_log))


@fact(
    *LOG,
    *each(int32, "leader leader_epoch"),
    int32s("isr"),
    int32("min_insync"),
    int64("at_micros"),
    int64("until_micros", "null while it lasts"),
)
def small_isrs(trace: Trace) -> Frame:
    """When a leader had fewer replicas in sync than `min.insync.replicas`."""
    asked = trace.topics.where("min_insync > 1").select("topic", "min_insync")
    return (
        states(trace)
        .join(asked, on="topic", how="inner")
        .where("leader >= 0 and size(isr) < least(min_insync, size(replicas))")
    )
