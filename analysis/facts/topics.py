"""What a topic's name stood for over time, and where the logs of its partitions began.

A topic that is deleted and created again under its name starts over: offsets, leader epochs and
records of the one prove nothing about the other (KIP-516).

An event is judged by what held at its time. What is known of that time has two bounds: a check
accuses only where both agree. Sources are, in this order, the servers' own logs (exact), the
leaders' samples, the metadata log, and the end of the run.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each, of_table, struct, structs
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import boolean, int32, int64, string

_LOG = ("topic", "partition")
_STATE = ("leader", "leader_epoch", "partition_epoch", "replicas", "isr", "elr")
IS_CREATED = "leader_epoch = 0 and partition_epoch = 0"
"""Of a row of `leaderships`: it creates the partition, unless the topic id says otherwise."""
_OF_LEADER = "leader offset increment"
"""Why a follower's log start advances: the leader's is there already."""


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


def of_present_topic(rows: Frame, trace: Trace, at: str) -> Frame:
    """Rows whose time, a column by its name, is not before their topic was created again."""
    if _is_each_created_once(trace):
        return rows
    return with_former_topic(rows, trace, at).where("not is_of_former").drop("is_of_former")


def with_former_topic(rows: Frame, trace: Trace, at: str) -> Frame:
    """Add is_of_former: whether a time, a column by its name, is before its topic's last creation.

    Then the row is about another topic of that name.
    """
    if _is_each_created_once(trace):
        return rows.withColumn("is_of_former", F.expr("false"))
    again = created_again(trace)
    began = creations(trace).where("is_last").join(again, on=list(_LOG), how="left_semi")
    return (
        rows.join(began.select(*_LOG, "created_micros"), on=list(_LOG), how="left")
        .withColumn("is_of_former", F.expr(f"coalesce({at} < created_micros, false)"))
        .drop("created_micros")
    )


def _is_each_created_once(trace: Trace) -> bool:
    return trace.once("no topic was created again", created_again(trace).isEmpty)


def with_log_starts(moments: Frame, trace: Trace) -> Frame:
    """Add start_low and start_high: the bounds of the leader's log start at `at_micros`.

    start_low is the highest that was reported until then. start_high is the lowest that was
    reported since then, or at the end. It is also the highest of all replicas until then, where
    the servers' logs have every advance up to the end.

    Args:
        moments: with topic, partition, at_micros; few.
        trace: the run.
    """
    key = (*_LOG, "at_micros")
    then = moments.select(*key).distinct()
    known = (
        then.join(log_start_reports(trace), on=list(_LOG), how="left")
        .groupBy(*key)
        .agg(
            F.expr("max(log_start) filter (where is_low and first_micros <= at_micros)").alias(
                "_low"
            ),
            F.expr(
                "min(log_start) filter (where is_high"
                f" and last_micros >= at_micros + {trace.clock_micros})"
            ).alias("_high"),
            F.expr(
                "max(log_start) filter (where is_logged"
                f" and first_micros <= at_micros + {trace.clock_micros})"
            ).alias("_logged"),
            F.expr("max(log_start) filter (where is_logged)").alias("_logged_last"),
        )
        .join(
            trace.log_bounds.select(*_LOG, F.col("log_start").alias("_end")),
            on=list(_LOG),
            how="left",
        )
        .selectExpr(
            *key,
            "coalesce(_low, 0) as start_low",
            "greatest(coalesce(_low, 0), least(_high, _end,"
            " if(_logged_last >= _end, coalesce(_logged, 0), null))) as start_high",
        )
    )
    return moments.join(known, on=list(key), how="left")


@fact(
    *LOG,
    int64("log_start"),
    boolean("is_low", "the leader's was at least that from then on"),
    boolean("is_high", "it was at most that until then"),
    boolean("is_logged", "by a server's log"),
    string("reason", "that the server logged"),
    *each(int64, "first_micros last_micros"),
)
def log_start_reports(trace: Trace) -> Frame:
    """Each log start that was reported, once a source."""
    sampled = (
        trace["samples"]
        .where("broker = leader and log_start_offset >= 0")
        .selectExpr(
            *_LOG,
            "log_start_offset as log_start",
            "at_micros",
            "true as is_low",
            "true as is_high",
            "false as is_logged",
            "cast(null as string) as reason",
        )
    )
    led = trace["leaderships"].selectExpr(
        *_LOG, "leader as broker", "at_micros as led_micros", "leader_epoch"
    )
    changes = trace["log_start_changes"].select(
        *_LOG, "broker", "log_start_offset", "reason", "at_micros"
    )
    led_then = (
        changes.join(led.withColumnRenamed("broker", "leader"), on=list(_LOG))
        .where("led_micros <= at_micros")
        .groupBy(*changes.columns)
        .agg(F.max_by("leader", F.struct("led_micros", "leader_epoch")).alias("leader"))
    )
    logged = led_then.selectExpr(
        *_LOG,
        "log_start_offset as log_start",
        "at_micros",
        f"broker = leader or reason = '{_OF_LEADER}' as is_low",
        "broker = leader as is_high",
        "true as is_logged",
        "reason",
    )
    return (
        of_present_topic(sampled.union(logged), trace, "at_micros")
        .groupBy(*_LOG, "log_start", "is_low", "is_high", "is_logged", "reason")
        .agg(F.min("at_micros").alias("first_micros"), F.max("at_micros").alias("last_micros"))
    )


def with_deletion(rows: Frame, trace: Trace, *, offset: str) -> Frame:
    """Rows with `deletion`, the first deletion that the servers logged of records up to an offset.

    A struct of at_micros, log_start, reason (as Kafka words it) and broker; null if none was
    logged.

    Args:
        rows: with topic, partition.
        trace: the run.
        offset: the offset, in SQL.
    """
    return (
        rows.join(_deletions(trace), on=list(_LOG), how="left")
        .withColumn(
            "deletion", F.expr(f"array_min(filter(_deletions, one -> one.log_start > {offset}))")
        )
        .drop("_deletions")
    )


def deletion_in_words() -> Column:
    """Of rows of `with_deletion`: the event; empty if no deletion was logged."""
    return F.when(
        F.col("deletion").isNotNull(),
        F.format_string(
            " by %s on broker %s, which raised the log start to %s",
            "deletion.reason",
            "deletion.broker",
            "deletion.log_start",
        ),
    ).otherwise("")


@fact(
    *LOG,
    structs(
        "_deletions", int64("at_micros"), int64("log_start"), string("reason"), int32("broker")
    ),
)
def _deletions(trace: Trace) -> Frame:
    """Deletions that the servers logged; their structs sort by when they were."""
    own = trace.present("log_start_changes").where(F.col("reason") != _OF_LEADER)
    return (
        of_present_topic(own, trace, "at_micros")
        .withColumnRenamed("log_start_offset", "log_start")
        .groupBy(*_LOG)
        .agg(
            F.collect_list(F.struct("at_micros", "log_start", "reason", "broker")).alias(
                "_deletions"
            )
        )
    )
