"""Whether what a run's sources say of one thing agrees.

Two sources that contradict each other prove that one of them is wrong, not that Kafka is.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import Cases, findings, undecided
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.deliveries import client_resets, deliveries
from analysis.facts.replicas import ends_of_replicas, unmatched
from analysis.facts.slices import logged_at, written_at
from analysis.facts.state import was_there, with_timelines
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_MEMBER = ("group", "member", *_LOG)
_IS_AHEAD = (
    "position > given_next and (position <= next_last"
    " or coalesce(following > next_last and position > following, false))"
)
"""A member asks for its position when a poll has returned: the position is after its records.
The next delivery may have a lower offset, as after a truncation. It then proves nothing."""
_BEGINS_SESSION = "change in ('opened', 'assigned', 'revoked', 'failed')"

_AT_POSITION = "{member} reported {change} at position {position}: {kind}"
_POSITIONS = Cases(
    undecided("position behind", _AT_POSITION),
    undecided("position ahead", _AT_POSITION),
    undecided("records between", _AT_POSITION),
    undecided("beyond the log", _AT_POSITION),
    evidence="member, change, position, given_before, given_next",
    offset_first="position",
    at="at_micros",
)


def history_consistent(trace: Trace) -> CheckOutcome:
    """Two sources of the run contradict each other.

    A member reported a position that is below an earlier or above the next delivery of its session,
    or that records of the log separate from its deliveries, and no reset in between explains it; or
    a position beyond every known end of the log; or it was delivered records of a partition that it
    never reported as assigned. Of a replica, batches and records differ, its end is not that of its
    last batch, or it still has a record that it truncated. A checkpoint has another start of an
    epoch than its leader logged.

    Undecided: always: one of the sources is wrong, not Kafka.
    Evaluates: every position that a member reported.
    Source: decision 16; the tables of one run describe one cluster.
    """
    judged = _with_deliveries(trace)
    behind = judged.where("position <= given_before and not is_reset_before")
    ahead = judged.where(f"{_IS_AHEAD} and not is_reset_after")
    beyond = judged.join(_known_ends(trace), on=list(_LOG), how="inner").where(
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
    of_positions = findings(found, _POSITIONS)
    of_logs = (
        batches_against_records(trace)
        .unionByName(_ends_against_batches(trace))
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


def _apart(judged: Frame, trace: Trace) -> Frame:
    """The positions with a record between them and the nearest delivery, as none may be.

    A record that was written there later, after an election, was not between them then.
    A transaction's record may be withheld from the member, so it proves nothing.
    """
    is_after = "position > given_before + 1 and coalesce(given_next > given_before + 1, true)"
    is_first = "given_before is null and change = 'assigned' and given_next > position"
    apart = trace.engine.materialized(
        judged.where(
            f"{is_after} and not is_reset_before or {is_first} and not is_reset_after"
        ).withColumn("offset", F.expr("coalesce(given_before + 1, position)"))
    )
    at = (*_LOG, "offset")
    return (
        with_timelines(apart.join(logged_at(apart, trace), on=list(at), how="inner"), trace)
        .where(was_there("leader_epoch", "offset", f"at_micros + {trace.clock_micros}"))
        .join(written_at(apart, trace), on=list(at), how="left_anti")
    )


_UNASSIGNED = Cases(
    undecided(
        "not assigned",
        "{member} received offsets {given_first} to {given_last} without a reported assignment of"
        " the partition",
    ),
    evidence="member",
    offset_first="given_first",
    offset_last="given_last",
    at="at_micros",
)


def _unassigned(trace: Trace) -> Frame:
    """Deliveries of partitions that are missing among what their member reports as assigned."""
    assigned = trace["group_events"].where("change = 'assigned'").select(*_MEMBER).distinct()
    reporting = assigned.select("group", "member").distinct()
    found = (
        deliveries(trace)
        .groupBy(*_MEMBER)
        .agg(
            F.min("first_offset").alias("given_first"),
            F.max("last_offset").alias("given_last"),
            F.min("at_micros").alias("at_micros"),
        )
        .join(reporting, on=["group", "member"], how="left_semi")
        .join(assigned, on=list(_MEMBER), how="left_anti")
    )
    return findings(found, _UNASSIGNED)


_BATCHES = Cases(
    undecided(
        "batches and records differ",
        "broker {broker}, epoch {leader_epoch}: replica_batches has {batched} records between"
        " {offset_first} and {offset_last}, replica_records has {recorded}",
    ),
    evidence="broker, leader_epoch, batched, recorded",
)


def batches_against_records(trace: Trace) -> Frame:
    """Findings of replicas whose decoded batches and records differ: undecided, with their offsets.

    Without any batch there is nothing to compare: records alone may come from a trace that has no
    batches at all, and `analysis.facts.gaps` finds where it should have some.
    """
    return findings(unmatched(trace).where(F.lit(trace.rows["replica_batches"] > 0)), _BATCHES)


_ENDS = Cases(
    undecided(
        "log ends differ",
        "broker {broker}: log_starts has log end offset {log_end_offset}; the last batch of"
        " replica_batches ends before {batches_end}",
    ),
    evidence="broker, log_end_offset, batches_end",
    offset_first="log_end_offset",
)


def _ends_against_batches(trace: Trace) -> Frame:
    """Findings of replicas that end elsewhere than their last batch: undecided."""
    return findings(ends_of_replicas(trace).where("batches_end != log_end_offset"), _ENDS)


_STARTS = Cases(
    undecided(
        "epoch starts differ",
        "broker {broker} has start offset {start_offset} of epoch {leader_epoch}; its leader logged"
        " {array_min(logged)}",
    ),
    evidence="broker, leader_epoch",
    offset_first="start_offset",
    at="at_micros",
)


def _starts(trace: Trace) -> Frame:
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
        .join(logged, on=list(epoch), how="inner")
        .join(own_start, on=list(replica), how="left")
        .where("start_offset > own_start and not array_contains(logged, start_offset)")
    )
    return findings(found, _STARTS)


_TRUNCATED = Cases(
    undecided(
        "truncated but present",
        "broker {broker} truncated value {value} at offset {offset} but still has it",
    ),
    evidence="broker, leader_epoch, value",
    offset_first="offset",
    at="at_micros",
)


def _truncated_and_there(trace: Trace) -> Frame:
    """Records that a replica truncated and has at the end."""
    slice_ = ("broker", *_LOG, "_first", "leader_epoch", "_value")
    named = {"offset": "_first", "value": "_value"}
    truncated = (
        slices.cut_records(trace)
        .withColumnsRenamed(named)
        .groupBy(*slice_)
        .agg(F.min("taken_micros").alias("at_micros"))
    )
    later = "concat(producer, ':', cast(sequence + offset - _first as string))"
    found = (
        slices.replica_records(trace)
        .withColumnsRenamed(named)
        .join(truncated, on=list(slice_), how="inner")
        .withColumn("offset", F.expr("explode(sequence(_first, last_offset))"))
        .withColumn("value", F.expr(f"if(offset = _first, _value, {later})"))
    )
    return findings(found, _TRUNCATED)


def _with_deliveries(trace: Trace) -> Frame:
    """Reported positions with their member's deliveries before and next, in that session.

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
    delivered = (
        deliveries(trace)
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
    delivered = delivered.withColumn("following", F.lead("first").over(in_turn)).withColumn(
        "_next", F.struct("first", "last", "following")
    )
    in_session = Window.partitionBy(*_MEMBER, "_session").orderBy("seq")
    back = Window.partitionBy(*_MEMBER, "_session").orderBy(F.desc("seq"))
    resets = (
        client_resets(trace)
        .groupBy("member", *_LOG)
        .agg(F.collect_list("at_micros").alias("resets_micros"))
    )
    was_reset = "exists(resets_micros, one -> one between {} and {})"
    clock = trace.clock_micros
    return (
        reported.unionByName(delivered, allowMissingColumns=True)
        .withColumn("_session", F.sum("_begins").over(in_turn))
        .withColumn("given_before", F.last("last", ignorenulls=True).over(in_session))
        .withColumn("_next", F.last("_next", ignorenulls=True).over(back))
        .withColumn("given_next", F.col("_next.first"))
        .withColumn("_given", F.when(F.col("first").isNotNull(), F.col("at_micros")))
        .withColumn("_before_micros", F.last("_given", ignorenulls=True).over(in_session))
        .withColumn("_next_micros", F.last("_given", ignorenulls=True).over(back))
        .where("position is not null")
        .join(resets, on=["member", *_LOG], how="left")
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


def _known_ends(trace: Trace) -> Frame:
    """(topic, partition, known_end): the end of the longest log that anything in the run knew."""
    ends = (
        trace["log_starts"]
        .select(*_LOG, F.col("log_end_offset").alias("_end"))
        .union(trace["samples"].select(*_LOG, "log_end_offset"))
        .union(trace["cut_batches"].select(*_LOG, F.expr("last_offset + 1 as _end")))
        .union(trace.acknowledged.select(*_LOG, F.expr("last_offset + 1 as _end")))
        .union(deliveries(trace).select(*_LOG, F.expr("last_offset + 1 as _end")))
    )
    return ends.groupBy(*_LOG).agg(F.max("_end").alias("known_end"))


CHECKS = (
    CheckDefinition(
        "M6",
        history_consistent,
        needs=("group_events", "log_starts"),
        cases=(*_POSITIONS, *_UNASSIGNED, *_BATCHES, *_ENDS, *_STARTS, *_TRUNCATED),
    ),
)
