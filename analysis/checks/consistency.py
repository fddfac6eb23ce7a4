"""Whether what a run's sources say of one thing agrees (taxonomy M4).

Two sources that contradict each other prove that one of them is wrong, not that Kafka is.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.checks.base import CheckOutcome, count, findings
from analysis.checks.logs import batches_against_records, ends_against_batches
from analysis.load import Trace
from analysis.lookups import logged_at, written_at
from analysis.state import of_present_topic
from analysis.stretches import given

_LOG = ("topic", "partition")
_MEMBER = ("group", "member", *_LOG)
_IS_AHEAD = (
    "position > given_next and (position <= next_last"
    " or coalesce(following > next_last and position > following, false))"
)
"""A member asks for its position when a poll has returned, and so has passed what that brought.
What follows may go back, as after a truncation: then it tells nothing."""
_BEGINS_SESSION = "change in ('opened', 'assigned', 'revoked', 'lost', 'failed')"


def history_consistent(trace: Trace) -> CheckOutcome:
    """M4: what members report agrees with their deliveries, and what replicas hold with itself.

    Kinds: `position behind`, below a record that the member was given before in the same session;
    `position ahead`, above a record that it was given next; `records between`, where the log holds
    a record between the position and what the member was given before, or was given first; `beyond
    the log`, above every offset that a replica, a sample, a send or a delivery knows; `not
    assigned`, where a member that reports what it was assigned was given records of another
    partition; `batches and records differ`, where those of a replica do not count the same; `log
    ends differ`, where a replica ends elsewhere than its last batch; `epoch starts differ`, where a
    leader logged another start of its epoch than a checkpoint has; `truncated and there`, where a
    replica lost a record that it still has. A reset of the partition in between explains the first
    three. All of it is undecided. Evaluates each reported position.
    """
    judged = _with_deliveries(trace)
    behind = judged.where("position <= given_before and not is_reset_before")
    ahead = judged.where(f"{_IS_AHEAD} and not is_reset_after")
    beyond = judged.join(F.broadcast(_known_ends(trace)), on=list(_LOG), how="inner").where(
        "position > known_end"
    )
    found = (
        behind.select(*_CONTRADICTION, F.lit("position behind").alias("kind"))
        .union(ahead.select(*_CONTRADICTION, F.lit("position ahead").alias("kind")))
        .union(
            _apart(judged, trace).select(*_CONTRADICTION, F.lit("records between").alias("kind"))
        )
        .union(beyond.select(*_CONTRADICTION, F.lit("beyond the log").alias("kind")))
    )
    of_positions = findings(
        trace.materialized(found),
        evidence=("member", "change", "position", "given_before", "given_next"),
        kind=F.col("kind"),
        verdict=F.lit("undecided"),
        offset_first=F.col("position"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "%s reported %s at position %s: %s", "member", "change", "position", "kind"
        ),
    )
    of_logs = (
        batches_against_records(trace)
        .unionByName(ends_against_batches(trace))
        .unionByName(_starts(trace))
    )
    return CheckOutcome(
        of_positions.unionByName(_unassigned(trace))
        .unionByName(of_logs)
        .unionByName(_truncated_and_there(trace)),
        count(judged),
    )


_CONTRADICTION = (
    *_MEMBER,
    "change",
    "position",
    "given_before",
    "given_next",
    "at_micros",
)


def _apart(judged: DataFrame, trace: Trace) -> DataFrame:
    """The positions with a record between them and the nearest delivery, as none may be.

    A transaction's record may be withheld from the member, so it proves nothing.
    """
    is_after = "position > given_before + 1 and coalesce(given_next > given_before + 1, true)"
    is_first = "given_before is null and change = 'assigned' and given_next > position"
    apart = trace.materialized(
        judged.where(
            f"{is_after} and not is_reset_before or {is_first} and not is_reset_after"
        ).withColumn("offset", F.expr("coalesce(given_before + 1, position)"))
    )
    at = (*_LOG, "offset")
    held = logged_at(apart, trace).select(*at).distinct()
    return apart.join(held, on=list(at), how="left_semi").join(
        written_at(apart, trace), on=list(at), how="left_anti"
    )


def _unassigned(trace: Trace) -> DataFrame:
    """Deliveries of partitions that are missing among what their member reports as assigned."""
    assigned = trace["group_events"].where("change = 'assigned'").select(*_MEMBER).distinct()
    reporting = assigned.select("group", "member").distinct()
    found = (
        given(trace)
        .groupBy(*_MEMBER)
        .agg(
            F.min("first_offset").alias("given_first"),
            F.max("last_offset").alias("given_last"),
            F.min("at_micros").alias("at_micros"),
        )
        .join(F.broadcast(reporting), on=["group", "member"], how="left_semi")
        .join(F.broadcast(assigned), on=list(_MEMBER), how="left_anti")
    )
    return findings(
        found,
        evidence=("member",),
        kind=F.lit("not assigned"),
        verdict=F.lit("undecided"),
        offset_first=F.col("given_first"),
        offset_last=F.col("given_last"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "%s received offsets %s to %s without a reported assignment of the partition",
            "member",
            "given_first",
            "given_last",
        ),
    )


def _starts(trace: Trace) -> DataFrame:
    """Starts of epochs in checkpoints that no leader of the epoch logged, though one logged some.

    Retention raises the start of the oldest epoch to the log start, which each replica raises by
    itself, so starts are compared above the replica's own. After a kill its checkpoint may be older
    than the change that the replica logged.
    """
    epoch = (*_LOG, "leader_epoch")
    logged = (
        of_present_topic(trace["leader_epoch_starts"], trace, "at_micros")
        .groupBy(*epoch)
        .agg(F.collect_set("start_offset").alias("logged"), F.min("at_micros").alias("at_micros"))
    )
    replica = ("broker", *_LOG)
    own_start = (
        trace["log_starts"]
        .select(*replica, "log_start_offset")
        .unionByName(
            of_present_topic(trace["log_start_changes"], trace, "at_micros").select(
                *replica, "log_start_offset"
            )
        )
        .groupBy(*replica)
        .agg(F.max("log_start_offset").alias("own_start"))
    )
    found = (
        trace["epoch_checkpoints"]
        .join(F.broadcast(logged), on=list(epoch), how="inner")
        .join(F.broadcast(own_start), on=list(replica), how="left")
        .where("start_offset > own_start and not array_contains(logged, start_offset)")
    )
    return findings(
        found,
        evidence=("broker", "leader_epoch"),
        kind=F.lit("epoch starts differ"),
        verdict=F.lit("undecided"),
        offset_first=F.col("start_offset"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "broker %s has start offset %s of epoch %s; its leader logged %s",
            "broker",
            "start_offset",
            "leader_epoch",
            F.array_min("logged"),
        ),
    )


def _truncated_and_there(trace: Trace) -> DataFrame:
    """Records that a replica truncated and has at the end."""
    record = ("broker", *_LOG, "offset", "leader_epoch", "value")
    truncated = trace["cut_records"].groupBy(*record).agg(F.min("taken_micros").alias("at_micros"))
    found = trace["replica_records"].join(F.broadcast(truncated), on=list(record), how="inner")
    return findings(
        found,
        evidence=("broker", "leader_epoch", "value"),
        kind=F.lit("truncated but present"),
        verdict=F.lit("undecided"),
        offset_first=F.col("offset"),
        at=F.col("at_micros"),
        cause=F.format_string(
            "broker %s truncated value %s at offset %s but still has it",
            "broker",
            "value",
            "offset",
        ),
    )


def _with_deliveries(trace: Trace) -> DataFrame:
    """Reported positions with what their member was given before and next, in that session.

    Columns: those of _CONTRADICTION, next_last, following, is_reset_before, is_reset_after.
    """
    reported = trace["group_events"].select(
        *_MEMBER,
        "seq",
        "at_micros",
        "change",
        F.when(F.col("change").isin("assigned", "caught_up"), F.col("position")).alias("position"),
        F.expr(f"int({_BEGINS_SESSION})").alias("_begins"),
        F.lit(None).cast("bigint").alias("first"),
        F.lit(None).cast("bigint").alias("last"),
    )
    deliveries = (
        given(trace)
        .groupBy(*_MEMBER, "seq", "at_micros")
        .agg(F.min("first_offset").alias("first"), F.max("last_offset").alias("last"))
        .select(
            *_MEMBER,
            "seq",
            "at_micros",
            F.lit(None).cast("string").alias("change"),
            F.lit(None).cast("bigint").alias("position"),
            F.lit(0).alias("_begins"),
            "first",
            "last",
        )
    )
    in_turn = Window.partitionBy(*_MEMBER).orderBy("seq")
    deliveries = deliveries.withColumn("following", F.lead("first").over(in_turn)).withColumn(
        "_next", F.struct("first", "last", "following")
    )
    in_session = Window.partitionBy(*_MEMBER, "_session").orderBy("seq")
    back = Window.partitionBy(*_MEMBER, "_session").orderBy(F.desc("seq"))
    resets = (
        trace["resets"]
        .groupBy("member", *_LOG)
        .agg(F.collect_list("at_micros").alias("resets_micros"))
    )
    was_reset = "exists(resets_micros, one -> one between {} and {})"
    clock = trace.clock_micros
    return (
        reported.unionByName(deliveries, allowMissingColumns=True)
        .withColumn("_session", F.sum("_begins").over(in_turn))
        .withColumn("given_before", F.last("last", ignorenulls=True).over(in_session))
        .withColumn("_next", F.last("_next", ignorenulls=True).over(back))
        .withColumn("given_next", F.col("_next.first"))
        .withColumn("_given", F.when(F.col("first").isNotNull(), F.col("at_micros")))
        .withColumn("_before_micros", F.last("_given", ignorenulls=True).over(in_session))
        .withColumn("_next_micros", F.last("_given", ignorenulls=True).over(back))
        .where("position is not null")
        .join(F.broadcast(resets), on=["member", *_LOG], how="left")
        .selectExpr(
            *_CONTRADICTION,
            "_next.last as next_last",
            "_next.following as following",
            "coalesce("
            + was_reset.format(f"_before_micros - {clock}", f"at_micros + {clock}")
            + ", false) as is_reset_before",
            "coalesce("
            + was_reset.format(f"at_micros - {clock}", f"_next_micros + {clock}")
            + ", false) as is_reset_after",
        )
    )


def _known_ends(trace: Trace) -> DataFrame:
    """(topic, partition, known_end): the end of the longest log that anything in the run knew."""
    ends = (
        trace["log_starts"]
        .select(*_LOG, F.col("log_end_offset").alias("_end"))
        .union(trace["samples"].select(*_LOG, "log_end_offset"))
        .union(trace["cut_batches"].select(*_LOG, F.expr("last_offset + 1")))
        .union(trace.acknowledged.select(*_LOG, F.expr("offset + 1")))
        .union(given(trace).select(*_LOG, F.expr("last_offset + 1")))
    )
    return ends.groupBy(*_LOG).agg(F.max("_end").alias("known_end"))
