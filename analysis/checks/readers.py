"""Whether all readers see one log, and see it in time."""

from analysis.checks.base import CheckDefinition, CheckOutcome, spans
from analysis.checks.cases import (
    DECIDED,
    PERMIT,
    UNKNOWN_ELECTION,
    Cases,
    by_election,
    decided,
    findings,
    permitted,
    undecided,
    violation,
)
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.branches import absences, rivals, with_readers
from analysis.facts.permits import with_permit
from analysis.facts.sessions import (
    on_branch,
    passed,
    runs,
)
from analysis.facts.state import with_timelines
from analysis.facts.topics import creations
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_AT = (*_LOG, "offset")
_SLICE = (*_AT, "last_offset")
_ANYWHERE = str(2**62)
"""A leader that brings old records back starts its epoch behind them."""


def _of_values(what: str, kind: str = "") -> Cases:
    """Several values at one offset, by what explains them.

    Args:
        what: the values, in words.
        kind: of each case; empty if it is the explanation.
    """
    again, one_epoch = "the topic was created again", "under one epoch"
    rewritten = "rewritten by a truncation"
    offsets = f"{{records}} offsets have {what}, of epochs {{epoch_first}} to {{epoch_last}}"
    is_unreported, is_free = "epoch_first < 0", "epoch_first >= 0 and not _is_owed"
    return Cases(
        permitted(kind or again, f"{offsets}: {again}", when="_again"),
        violation(
            kind or one_epoch,
            f"{offsets}: {one_epoch}",
            when="_is_double",
            undecided_if=is_unreported,
        ),
        permitted(
            kind or rewritten,
            f"{offsets}: {rewritten}; {PERMIT}",
            when="permit is not null",
            undecided_if=is_unreported,
        ),
        undecided(
            kind or rewritten,
            f"{offsets}: {rewritten}; {UNKNOWN_ELECTION}",
            when="is_unreported",
            permitted_if=is_free,
        ),
        violation(
            kind or rewritten,
            f"{offsets}: {rewritten}",
            permitted_if=is_free,
            undecided_if=is_unreported,
        ),
        evidence="records, epoch_first, epoch_last, readers, permit",
    )


_SEVERAL_VALUES = _of_values("several values at one offset")
_DIFFERENT_VALUES = _of_values("different values", kind="different values")


def inconsistent_offset(trace: Trace) -> CheckOutcome:
    """One offset has several values, among those that groups were delivered and the log at the end.

    Several values under one leader epoch are a violation. Under several epochs the log was
    truncated and rewritten.

    Permitted: by an election in between that permits the loss; the overwritten value was not
        acknowledged with acks=all; one value is of the topic before it was created again.
    Undecided: a client reports no epoch; an election in between is not known.
    Evaluates: every delivery.
    Source: KIP-101: an epoch has one leader, which writes each offset once.
    """
    return CheckOutcome(_reported(trace, rivals(trace), _SEVERAL_VALUES), trace.records("polls"))


def divergent_readers(trace: Trace) -> CheckOutcome:
    """Two groups went past one offset and were not delivered the same record there.

    Either both were delivered a record, and some value by one group only. Or within a session a
    group went past a record that another group of the same isolation level was delivered, in an
    epoch between those around it.

    Permitted: different values, as in `inconsistent_offset`.
    Undecided: different values, as in `inconsistent_offset`.
    Evaluates: deliveries of partitions that several groups read.
    Source: Kafka's documentation, Replication: only committed records are given to consumers.
    """
    read = rivals(trace).where("groups != 0")
    apart = (
        read.groupBy(*_AT, "value")
        .agg(F.bit_or("groups").alias("_having"))
        .groupBy(*_AT)
        .agg(
            F.min(F.bit_count("_having")).alias("_least"),
            F.bit_count(F.bit_or("_having")).alias("_readers"),
        )
        .where("_least < _readers")
    )
    of_readers = read.join(apart, on=list(_AT), how="left_semi")
    different = _reported(trace, of_readers, _DIFFERENT_VALUES)
    shared = (
        runs(trace)
        .groupBy(*_LOG)
        .agg(
            F.count_distinct("group").alias("_readers"),
            F.sum(F.expr("last_offset - first_offset + 1")).alias("_records"),
        )
        .where("_readers > 1")
    )
    evaluated = shared.agg(F.coalesce(F.sum("_records"), F.lit(0)).alias("evaluated"))
    return CheckOutcome(different.unionByName(_given_to_one(trace)), evaluated)


_CAME_BACK = Cases(
    *by_election(
        "came back",
        "{records} records of epoch {leader_epoch} reappeared after epoch {other_epoch} had been"
        " read {was}",
    ),
    evidence="records, leader_epoch, other_epoch, permit",
)


def resurrected_record(trace: Trace) -> CheckOutcome:
    """A record was known, then absent from a read of its offset, and then there again.

    A value was acknowledged or delivered; later a group was delivered another value of a later
    epoch at its offset; yet at the end the log has the first value, or a group was delivered it
    later still. Or a group came to the end of the log below it, under a later epoch that had
    started at or below its offset, and at the end the log has it; then it counts as known if it was
    delivered, or acknowledged with acks=all. A read that went past the offset and saw nothing
    proves no absence: `poll_skip` evaluates that.

    Permitted: by an election that permits the loss of the other value or epoch; of either, if the
        log does not have the first value.
    Undecided: an election in between is not known.
    Evaluates: every delivery.
    Source: KIP-101; KIP-966.
    """
    back = with_permit(
        with_timelines(_back(trace).unionByName(_back_beyond_ends(trace)), trace),
        trace,
        after="if(is_kept, other_epoch, leader_epoch)",
        to="array_max(timeline).leader_epoch",
        offset=_ANYWHERE,
    )
    found = spans(
        trace,
        back,
        *_LOG,
        "leader_epoch",
        "other_epoch",
        "was",
        "permit",
        "is_unreported",
        "group",
        at=F.min("at"),
    )
    return CheckOutcome(findings(found, _CAME_BACK), trace.records("polls"))


def _back(trace: Trace) -> Frame:
    """Slices that came back, and which group was delivered other values in their place, and when.

    Columns: topic, partition, offset, last_offset, leader_epoch, other_epoch, is_kept (whether the
    log holds them), was (how the other epoch was read, in words), at, group. When each group was
    given the other values is asked only where their first and last deliveries do not rule it out.
    """
    other = (
        rivals(trace)
        .where("groups != 0")
        .select(
            *_AT,
            F.col("value").alias("other"),
            F.col("leader_epoch").alias("other_epoch"),
            F.col("first_micros").alias("_other_first"),
            F.col("last_micros").alias("_other_last"),
        )
    )
    may_be_back = (
        rivals(trace)
        .withColumn("known_micros", F.least("first_micros", "answered_micros"))
        .join(other, on=list(_AT), how="inner")
        .where("other != value and other_epoch > leader_epoch")
        .where(f"known_micros + {trace.clock_micros} < _other_last")
        .where(f"is_kept or last_micros > _other_first + {trace.clock_micros}")
        .select(
            *_SLICE,
            "leader_epoch",
            "other",
            "other_epoch",
            "is_kept",
            "known_micros",
            "last_micros",
        )
    )
    given = slices.polls(trace).select(
        *_AT,
        F.col("leader_epoch").alias("other_epoch"),
        F.col("value").alias("other"),
        "group",
        "polled_micros",
    )
    return (
        given.join(may_be_back, on=[*_AT, "other", "other_epoch"], how="inner")
        .groupBy(*may_be_back.columns, "group")
        .agg(F.min("polled_micros").alias("absent_micros"))
        .where(f"known_micros + {trace.clock_micros} < absent_micros")
        .where(f"is_kept or last_micros > absent_micros + {trace.clock_micros}")
        .groupBy(*_SLICE, "leader_epoch", "other_epoch", "is_kept")
        .agg(F.min("absent_micros").alias("at"), F.min("group").alias("group"))
        .withColumn("was", F.lit("in their place"))
    )


def _back_beyond_ends(trace: Trace) -> Frame:
    """What the log holds beyond an end that a group came to after it was known: as of `_back`."""
    ends = absences(trace).withColumnRenamed("group", "_reader")
    back = (
        slices.surviving(trace)
        .join(ends, on=list(_LOG), how="inner")
        .where("offset >= from_offset and offset < to_offset and leader_epoch < other_epoch")
    )
    key = (*_AT, "value")
    given = slices.polls(trace).select(*key, F.col("polled_micros").alias("known_micros"))
    owed = slices.acknowledged(trace).where("acks = 'all'")
    known = given.union(owed.select(*key, F.col("answered_micros").alias("known_micros")))
    return (
        known.join(back, on=list(key), how="inner")
        .where(f"known_micros + {trace.clock_micros} < at_micros")
        .groupBy(*_SLICE, "leader_epoch", "other_epoch")
        .agg(F.min("at_micros").alias("at"), F.min("_reader").alias("group"))
        .withColumn("is_kept", F.expr("true"))
        .withColumn("was", F.lit("to its end"))
    )


def _with_explanations(rivals: Frame, trace: Trace) -> Frame:
    """One row for each slice of offsets: its values' epochs, and what permits several."""
    again = creations(trace).where("is_last and creation > 0")
    of_slice = (
        rivals.groupBy(*_SLICE, "leader_epoch")
        .agg(
            (F.count(F.lit(1)) > 1).alias("_is_double"),
            F.max(F.when(F.col("is_owed"), F.col("leader_epoch"))).alias("_owed"),
            F.min("first_micros").alias("first_micros"),
            F.bit_or("groups").alias("groups"),
            F.min(F.least("first_micros", "answered_micros")).alias("_known_micros"),
        )
        .groupBy(*_SLICE)
        .agg(
            F.max("_is_double").alias("_is_double"),
            F.min("leader_epoch").alias("epoch_first"),
            F.max("leader_epoch").alias("epoch_last"),
            (F.min("_owed") < F.max("leader_epoch")).alias("_is_owed"),
            F.min("first_micros").alias("at"),
            F.bit_or("groups").alias("groups"),
            F.min("_known_micros").alias("_known_micros"),
        )
        .withColumn("_is_owed", F.coalesce("_is_owed", F.lit(1) == 0))
        .join(again.select(*_LOG, "created_micros"), on=list(_LOG), how="left")
        .withColumn("_again", F.expr(f"_known_micros <= created_micros + {trace.clock_micros}"))
    )
    return with_permit(of_slice, trace, after="epoch_first", to="epoch_last", offset="offset")


def _reported(trace: Trace, rivals: Frame, cases: Cases) -> Frame:
    found = spans(
        trace,
        decided(_with_explanations(rivals, trace), cases),
        *_LOG,
        *DECIDED,
        "epoch_first",
        "epoch_last",
        "groups",
        "permit",
        "is_unreported",
        at=F.min("at"),
    )
    return findings(with_readers(found, trace), cases)


_GIVEN_TO_ONE = Cases(
    violation(
        "delivered to one",
        "group {group} skipped {records} records that group {other} received",
    ),
    evidence="records, other",
)


def _given_to_one(trace: Trace) -> Frame:
    level = trace.readers.select("group", "isolation")
    others = slices.polls(trace).select(*_AT, "leader_epoch", F.col("group").alias("other"))
    given = (
        others.join(passed(trace), on=list(_AT), how="inner")
        .where("other != group")
        .where(on_branch())
        .join(level, on="group", how="inner")
        .join(level.toDF("other", "_isolation"), on="other", how="inner")
        .where("isolation = _isolation")
    )
    # What came later in the same poll, in the wrong order, was given to both.
    again = slices.polls(trace).select("group", *_AT)
    only = given.join(again, on=["group", *_AT], how="left_anti")
    found = spans(trace, only, *_LOG, "group", "other", at=F.min("at_micros"))
    return findings(found, _GIVEN_TO_ONE)


CHECKS = (
    CheckDefinition(
        "B1", inconsistent_offset, needs=("polls", "leaderships"), cases=_SEVERAL_VALUES
    ),
    CheckDefinition(
        "B5",
        divergent_readers,
        needs=("polls", "group_events", "leaderships"),
        cases=(*_DIFFERENT_VALUES, *_GIVEN_TO_ONE),
    ),
    CheckDefinition("A7", resurrected_record, needs=("polls", "sends"), cases=_CAME_BACK),
)
