"""Changes of partitions in the metadata log, and which of them belong to one topic id.

A topic that is deleted and created again under its name starts over: offsets, leader epochs and
records of the one prove nothing about the other (KIP-516).
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, of_table, struct
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import boolean, int32, int64, string

_LOG = ("topic", "partition")
_STATE = ("leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr")
IS_CREATED = "leader_epoch = 0 and partition_epoch = 0"
"""Of a row of `leaderships`: it creates the partition, unless the topic id says otherwise."""


@fact(
    *LOG,
    int64("creation", "numbers the topic ids that one name had, from 0"),
    *of_table("leaderships", "topic_id", *_STATE, "metadata_offset", "at_micros"),
    struct(
        "was",
        *of_table("leaderships", *_STATE),
        about="the state before; null where nothing is known",
    ),
    int32("last_leader", "the last broker that led before, if any did"),
    boolean("is_first", "whether it created the partition"),
)
def changes(trace: Trace) -> Frame:
    """`leaderships`, each with the partition's state before it."""
    in_log = Window.partitionBy(*_LOG).orderBy("metadata_offset")
    in_creation = Window.partitionBy(*_LOG, "creation").orderBy("metadata_offset")
    led = F.when(F.col("leader") >= 0, F.col("leader"))
    before = in_creation.rowsBetween(Window.unboundedPreceding, -1)
    is_other = f"coalesce(topic_id != id_before, {IS_CREATED})"
    return (
        trace["leaderships"]
        .withColumn("id_before", F.lag("topic_id").over(in_log))
        .withColumn("epoch_before", F.lag("leader_epoch").over(in_log))
        .withColumn("is_new", F.expr(f"int(epoch_before is not null and {is_other})"))
        .withColumn("creation", F.sum("is_new").over(in_log))
        .withColumn("was", F.lag(F.struct(*_STATE)).over(in_creation))
        .withColumn("last_leader", F.last(led, ignorenulls=True).over(before))
        .withColumn("is_first", F.expr(f"was is null and ({IS_CREATED} or is_new = 1)"))
    )


@fact(
    *LOG,
    int64("creation"),
    string("topic_id"),
    int64(
        "created_micros",
        "when its partition was created; of the first one, when the metadata log first has it",
    ),
    int64("created_at", "at which metadata offset; likewise"),
    boolean("is_last"),
)
def creations(trace: Trace) -> Frame:
    """Each topic id of a partition."""
    last = Window.partitionBy(*_LOG)
    return (
        changes(trace)
        .groupBy(*_LOG, "creation")
        .agg(
            F.max("topic_id").alias("topic_id"),
            F.min("at_micros").alias("created_micros"),
            F.min("metadata_offset").alias("created_at"),
        )
        .withColumn("is_last", F.col("creation") == F.max("creation").over(last))
    )


@view(*LOG)
def created_once(trace: Trace) -> Frame:
    """Partitions whose topic had one topic id only."""
    return creations(trace).where("is_last and creation = 0")


@view(*LOG)
def created_again(trace: Trace) -> Frame:
    """Partitions of topics that were deleted and created again."""
    return creations(trace).where("is_last and creation > 0")
