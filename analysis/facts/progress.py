"""What groups went past and why, and what was delivered to them again."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.declared import EVENT, LOG, OF_GROUP, SLICE, of_table
from analysis.facts.deliveries import client_resets, deliveries
from analysis.facts.elections import elections
from analysis.facts.positions import (
    PARTITION,
    administered,
    beginnings,
    endings,
    last_commits,
    offsets_of,
    positions,
    withheld_commits,
)
from analysis.facts.state import FOREVER, end_then, fork_then, timelines
from analysis.facts.topics import of_present_topic, with_log_starts
from analysis.facts.trace import Trace, fact, view
from contract.outcomes import CommitEpoch, Isolation
from contract.table_columns import boolean, int32, int64, string
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_IS_JUMP = (
    "cause in ('out_of_range', 'no_commit') and (policy = 'latest' or policy like 'by_duration%')"
    " or cause = 'seek'"
)
"""Of `reset_ranges`: `auto.offset.reset` may have led past records that the log has."""
_RECORD = ("offset", "last_offset", "records", "leader_epoch", "value")
_RESET = (*PARTITION, "member", "at_micros", "to_offset", "cause", "policy")
_LATE_MICROS = MICROS_PER_SECOND
"""A client may write the line of a reset so long after it went on."""
_NEVER = 2**62


@fact(*OF_GROUP, *SLICE, int32("leader_epoch"))
def never_delivered(trace: Trace) -> Frame:
    """Slices of surviving records that a group went past.

    The log held them at that time: some were deleted later. A record counts as delivered if its
    value was, at whatever offset: a truncation gives an offset to another record. What a
    transaction wrote is left out for groups that read committed values: whether they should have it
    is for `torn_transaction` to judge.
    """
    is_passed = (F.col("offset") >= F.col("first_offset")) & (
        F.col("offset") < F.col("final_position")
    )
    reached = final_positions(trace).drop("position", "seen_micros")
    passed = slices.surviving(trace).join(reached, on=["topic", "partition"], how="inner")
    candidates = passed.where(is_passed).select(*PARTITION, *_RECORD)
    if was_deleted_from(trace):
        candidates = candidates.union(_passed_before_deletion(trace))
    polls = of_present_topic(slices.polls(trace), trace, "polled_micros")
    damaged = polls.where("not is_intact").select(*PARTITION, "offset", "leader_epoch")
    missed = candidates.join(polls, on=[*PARTITION, "value"], how="left_anti").join(
        damaged, on=[*PARTITION, "offset", "leader_epoch"], how="left_anti"
    )
    committed = [
        group.group for group in trace.plan.groups if group.isolation == Isolation.READ_COMMITTED
    ]
    if committed:
        written = slices.sends(trace).where("transaction is not null").select("value").distinct()
        is_hidden = F.col("group").isin(committed) & F.col("_written").isNotNull()
        missed = missed.join(
            written.withColumn("_written", F.lit(1)), on="value", how="left"
        ).where(~is_hidden)
    return missed


def was_deleted_from(trace: Trace) -> bool:
    """Whether any log start is above 0 at the end."""
    return trace.once("records were deleted", lambda: not _deleted(trace).isEmpty())


@view(*LOG, int64("log_start"))
def _deleted(trace: Trace) -> Frame:
    """Partitions of which records were deleted."""
    return trace.log_bounds.where("log_start > 0")


def _passed_before_deletion(trace: Trace) -> Frame:
    """Records below the log start, in segments that are still there, that a group went past before.

    The log start was at or below them, by its upper bound, when the group was delivered a record
    above them.
    """
    polled = deliveries(trace).join(_deleted(trace), on=list(_LOG), how="left_semi")
    passed_to = (
        with_log_starts(of_present_topic(polled, trace, "at_micros"), trace)
        .groupBy(*PARTITION, "start_high")
        .agg(F.max("first_offset").alias("passed_to"))
        .join(beginnings(trace), on=list(PARTITION), how="inner")
    )
    return (
        deleted_records(trace)
        .join(passed_to, on=list(_LOG), how="inner")
        .where("offset >= greatest(start_high, first_offset) and offset < passed_to")
        .select(*PARTITION, *_RECORD)
        .distinct()
    )


@view(*LOG, *SLICE, int32("leader_epoch"), string("value"))
def deleted_records(trace: Trace) -> Frame:
    """Slices below the log start that are in a segment yet."""
    return (
        slices.replica_records(trace)
        .join(trace.survivors, on=[*_LOG, "broker"], how="left_semi")
        .join(_deleted(trace), on=list(_LOG), how="inner")
        .where("offset < log_start")
        .select(*_LOG, *_RECORD)
        .distinct()
    )


@view(
    *OF_GROUP,
    int64("first_offset", "as of `beginnings`"),
    int64(
        "final_position",
        "the position, but not above where a newer leader epoch started after the group was seen"
        " last, nor above where the epoch that it read last started, if the log lacks it: it did"
        " not go on there",
    ),
    int64("position", "as of `positions`"),
    int64("seen_micros", "likewise"),
)
def final_positions(trace: Trace) -> Frame:
    """How far groups went that did not end by raising."""
    calm = endings(trace).where(F.col("last_change") != "failed").select("group")
    last_read = (
        deliveries(trace)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("leader_epoch", F.struct("at_micros", "seq", "last_place")).alias("read_epoch")
        )
    )
    since = (
        "array_min(transform(filter(timeline, one -> one.leader_epoch > read_epoch"
        " and (is_polled or one.from_micros > seen_micros) or one.leader_epoch = read_epoch"
        " and array_contains(array_max(timeline).lacked, read_epoch)), one -> one.start_high))"
    )
    return (
        positions(trace)
        .join(beginnings(trace), on=list(PARTITION), how="inner")
        .join(calm, on="group", how="left_semi")
        .join(last_read, on=list(PARTITION), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .selectExpr("*", f"least(position, {since}) as final_position")
    )


@fact(*OF_GROUP, *SLICE, string("value"), int64("deliveries"), int64("last_micros"))
def repeated(trace: Trace) -> Frame:
    """Slices that a group was delivered more than once."""
    return (
        slices.polls(trace)
        .groupBy(*PARTITION, "offset", "last_offset", "records", "value")
        .agg(F.count(F.lit(1)).alias("deliveries"), F.max("polled_micros").alias("last_micros"))
        .where("deliveries > 1")
    )


@view(
    *OF_GROUP,
    *SLICE,
    int32("leader_epoch"),
    string("commit_epoch", "of the group's plan"),
    int64("committed_offset", "of its last commit"),
    int32("committed_epoch"),
    int64("committed_micros"),
    int64("jumped_to", "the offset to which `auto.offset.reset` led past it"),
    string("policy", "that of this reset: `latest`, or `by_duration` (KIP-1106)"),
    int64(
        "withheld_at",
        "the position behind which a client left its commits out, so that the group resumed past"
        " it; null if none did",
    ),
    int64("set_to", "the offset to which an administrator moved the group past it"),
    int64(
        "truncated_to",
        "the offset to which the client went for a truncation that it placed above it",
    ),
    string(
        "unclean_epochs",
        "of several unclean elections, where that offset is the one that the leader then had to"
        " return for the position's epoch, which was newer than the record's; else null",
    ),
    boolean(
        "is_replaced",
        "whether it took the place of a record that was delivered to the group before, and then"
        " truncated; false where a reset led past it",
    ),
    boolean(
        "is_unseen",
        "whether the leader returned an end of that record's epoch above what the group had read of"
        " it, so that no client could notice (KIP-320)",
    ),
    int32("read_epoch", "that epoch, if so"),
    boolean("is_gapped", "whether a history that has deliveries to the group lacks events"),
)
def skips(trace: Trace) -> Frame:
    """Rows of `never_delivered`, each with what explains it."""
    skipped = trace.engine.materialized(never_delivered(trace))
    return (
        skipped.join(trace.groups.select("group", "commit_epoch"), on="group", how="left")
        .join(last_commits(offsets_of(trace)), on=list(PARTITION), how="left")
        .join(_passed_by_resets(skipped, trace), [*PARTITION, "offset", "leader_epoch"], "left")
        .join(_withheld(skipped, trace), [*PARTITION, "offset", "leader_epoch"], "left")
        .join(_set_past(skipped, trace), [*PARTITION, "offset", "leader_epoch"], "left")
        .join(_replaced(skipped, trace), on=[*PARTITION, "offset", "leader_epoch"], how="left")
        .join(_gapped(trace), on="group", how="left")
        .withColumn(
            "is_replaced",
            F.expr(
                "coalesce(is_replaced, false) and jumped_to is null and set_to is null"
                f" and (truncated_to is null or commit_epoch = '{CommitEpoch.NONE}')"
            ),
        )
        .withColumn("is_unseen", F.expr("is_replaced and is_unseen"))
        .withColumn("read_epoch", F.expr("if(is_unseen, read_epoch, null)"))
        .withColumn("is_gapped", F.coalesce("is_gapped", F.expr("false")))
    )


def _withheld(skipped: Frame, trace: Trace) -> Frame:
    """(group, topic, partition, offset, leader_epoch, withheld_at): as of `skips`."""
    return (
        skipped.select(*PARTITION, "offset", "leader_epoch")
        .join(withheld_commits(trace), on=list(PARTITION), how="inner")
        .where("offset >= position and offset < stored_offset")
        .groupBy(*PARTITION, "offset", "leader_epoch")
        .agg(F.max("position").alias("withheld_at"))
    )


def _set_past(skipped: Frame, trace: Trace) -> Frame:
    """(group, topic, partition, offset, leader_epoch, set_to): as of `skips`.

    Only where a member was assigned the partition while that offset stood.
    """
    clock = trace.clock_micros
    stood = (
        f"at_micros >= committed_micros - {clock}"
        f" and coalesce(at_micros <= until_micros + {clock}, true)"
    )
    assigned = trace["group_events"].where("change = 'assigned'").select(*PARTITION, "at_micros")
    moves = (
        administered(trace)
        .join(assigned, on=list(PARTITION), how="inner")
        .where(stood)
        .selectExpr(*PARTITION, "moved_from", "offset as moved_to")
    )
    return (
        skipped.join(moves, on=list(PARTITION), how="inner")
        .where("offset >= moved_from and offset < moved_to")
        .groupBy(*PARTITION, "offset", "leader_epoch")
        .agg(F.max("moved_to").alias("set_to"))
    )


def _gapped(trace: Trace) -> Frame:
    """(group, is_gapped): groups with a member in a history that lacks events."""
    lacking = (
        trace.present("histories").where("missing_seqs > 0 or malformed_lines > 0").select("worker")
    )
    return (
        deliveries(trace)
        .select("group", "worker")
        .distinct()
        .join(lacking, on="worker", how="left_semi")
        .select("group", F.expr("true").alias("is_gapped"))
        .distinct()
    )


def _passed_by_resets(skipped: Frame, trace: Trace) -> Frame:
    """What a reset led past.

    Columns: group, topic, partition, offset, leader_epoch; jumped_to, policy, truncated_to and
    unclean_epochs, as of `skips`.
    """
    return (
        skipped.select(*PARTITION, "offset", "leader_epoch")
        .join(reset_ranges(trace), on=list(PARTITION), how="inner")
        .where("offset >= covers_from and offset < to_offset")
        .groupBy(*PARTITION, "offset", "leader_epoch")
        .agg(
            F.expr(f"max(to_offset) filter (where {_IS_JUMP})").alias("jumped_to"),
            F.expr(f"max(policy) filter (where {_IS_JUMP})").alias("policy"),
            F.expr("max(to_offset) filter (where cause = 'truncation')").alias("truncated_to"),
            F.expr(
                "max(unclean_epochs) filter (where cause = 'truncation'"
                " and leader_epoch < from_epoch and to_offset = answered)"
            ).alias("unclean_epochs"),
        )
    )


@fact(
    *OF_GROUP,
    *of_table("resets", "at_micros", "to_offset", "from_epoch", "cause", "policy"),
    int64("answered"),
    string("unclean_epochs"),
    int64("covers_from"),
)
def reset_ranges(trace: Trace) -> Frame:
    """Resets with covers_from: from there on, up to to_offset, they led past records.

    That is the position that was reset; or where its branch ended, if a truncation had removed what
    the group read last; but not below what the group had reached on the branch before. An epoch of
    which the surviving branch has nothing parted from it where it started.

    answered: where the first epoch newer than the position's started, which is the end that the
    leader returns; unclean_epochs: those of the unclean elections from the position's epoch on, if
    they are several.
    """
    resets = (
        of_present_topic(client_resets(trace), trace, "at_micros")
        .where("to_offset is not null")
        .groupBy(*_RESET)
        .agg(F.max("from_offset").alias("from_offset"), F.max("from_epoch").alias("from_epoch"))
    )
    read = of_present_topic(deliveries(trace), trace, "at_micros").selectExpr(
        *PARTITION,
        "at_micros as read_micros",
        "struct(at_micros, seq, last_place) as read_at",
        "last_offset",
        "leader_epoch as read_epoch",
    )
    until = f"at_micros + {trace.clock_micros}"
    forked_at = fork_then("read_epoch", until)
    parted_at = (
        "array_min(transform(filter(timeline, one -> one.leader_epoch = read_epoch"
        " and not one.is_kept), one -> one.start_high))"
    )
    before = (
        resets.join(read, on=list(PARTITION), how="inner")
        .where(
            f"read_micros <= at_micros - {_LATE_MICROS}"
            " or (read_micros <= at_micros and last_offset < to_offset)"
        )
        .groupBy(*_RESET, "read_epoch")
        .agg(F.max("last_offset").alias("last_offset"), F.max("read_at").alias("read_at"))
        .join(timelines(trace), on=list(_LOG), how="left")
        .selectExpr("*", f"{forked_at} as left_at", f"{parted_at} as parted_at")
        .selectExpr("*", "if(left_at is null, null, least(left_at, parted_at)) as forked_at")
        .groupBy(*_RESET)
        .agg(
            F.expr(f"max(least(last_offset + 1, coalesce(forked_at, {_NEVER})))").alias("reached"),
            F.max_by("forked_at", "read_at").alias("forked_at"),
        )
    )
    return (
        resets.join(before, on=list(_RESET), how="left")
        .join(timelines(trace), on=list(_LOG), how="left")
        .join(_unclean(trace), on=list(_LOG), how="left")
        .withColumn("reached", F.coalesce("reached", F.lit(0)))
        .withColumn(
            "unclean",
            F.expr(
                "transform(filter(unclean, one -> one.epoch >= from_epoch"
                f" and one.began_micros <= {until}), one -> one.epoch)"
            ),
        )
        .selectExpr(
            *PARTITION,
            "at_micros",
            "to_offset",
            "from_epoch",
            "cause",
            "policy",
            f"if(from_epoch < 0, null, {end_then('from_epoch', until)}) as answered",
            "if(from_epoch >= 0 and size(unclean) > 1, to_json(array_sort(unclean)), null)"
            " as unclean_epochs",
            "greatest(reached, least(coalesce(from_offset, reached),"
            f" coalesce(forked_at, {_NEVER}))) as covers_from",
        )
    )


def _unclean(trace: Trace) -> Frame:
    """(topic, partition, unclean): the elections out of the ISR that permit a loss, as structs."""
    return (
        elections(trace)
        .where("is_unclean and permits is not null")
        .groupBy(*_LOG)
        .agg(
            F.collect_list(F.struct("epoch", F.col("at_micros").alias("began_micros"))).alias(
                "unclean"
            )
        )
    )


@view(*OF_GROUP, *EVENT, int64("from_offset", "the first one that it led past"))
def jumps_permitted(trace: Trace) -> Frame:
    """Events that permit a jump of a group: resets by a policy that leads past records."""
    return (
        reset_ranges(trace)
        .where(_IS_JUMP)
        .selectExpr(
            *PARTITION,
            "at_micros",
            "if(at_micros is null, null, 'reset') as cause",
            "to_offset as number",
            "if(at_micros is null, null, coalesce(concat('auto.offset.reset=', policy), 'a seek'))"
            " as words",
            "covers_from as from_offset",
        )
    )


def _replaced(skipped: Frame, trace: Trace) -> Frame:
    """group, topic, partition, offset, leader_epoch; is_replaced, read_epoch, is_unseen of `skips`.

    As of `skips`.
    """
    older = (
        of_present_topic(deliveries(trace), trace, "at_micros")
        .where("leader_epoch >= 0")
        .groupBy(*PARTITION, F.col("leader_epoch").alias("read_epoch"))
        .agg(F.max("last_offset").alias("last_read"))
        .join(timelines(trace), on=list(_LOG), how="left")
        .selectExpr(
            "*",
            f"{fork_then('read_epoch', FOREVER)} as forked_at",
            f"coalesce({end_then('read_epoch', FOREVER)} > last_read, false) as is_unseen",
        )
        .select(*PARTITION, "read_epoch", "last_read", "forked_at", "is_unseen")
    )
    return (
        skipped.select(*PARTITION, "offset", "leader_epoch")
        .join(older, on=list(PARTITION), how="inner")
        .where("read_epoch != leader_epoch and offset >= forked_at and offset <= last_read")
        .groupBy(*PARTITION, "offset", "leader_epoch")
        .agg(
            F.expr("true").alias("is_replaced"),
            F.max("read_epoch").alias("read_epoch"),
            F.max("is_unseen").alias("is_unseen"),
        )
    )
