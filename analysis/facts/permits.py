"""The events that permit a loss or a jump: which it is, by cause and number.

Every check of a loss asks here, for the event that permits the loss of a record, a marker, a commit
or the offsets of a transaction, or a jump of a group past them.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import OFFSETS_TOPIC
from analysis.facts.declared import EVENT, LOG, OF_EVENT, structs
from analysis.facts.elections import elections
from analysis.facts.state import keeps, with_timelines
from analysis.facts.topics import creations, log_start_reports
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")


@fact(*LOG, *EVENT)
def permits(trace: Trace) -> Frame:
    """Events of a partition that permit a loss of records; those of a group are `jumps_permitted`.

    Elections: see `elections`; of a topic that the plan does not have, such as
    `__consumer_offsets`, each one out of the ISR, since its setting is not known. Deletions: each
    log start that was reported, where the plan or an order of the run deletes records; what lies
    below it may be gone. Creations: the topic was created again; all that it had is gone.
    """
    present = creations(trace).where("is_last")
    planned = trace.topics.selectExpr("topic", "retention_ms is not null or deletes as deletes")
    elected = (
        elections(trace)
        .join(present, on=[*_LOG, "creation"], how="left_semi")
        .join(planned, on="topic", how="left")
        .withColumn(
            "permits",
            F.expr(
                "coalesce(permits, if(deletes is null and is_unclean"
                " and kind != 'last known leader', 'unclean election', null))"
            ),
        )
        .where("permits is not null")
        .selectExpr(
            *_LOG,
            "at_micros",
            "'election' as cause",
            "bigint(epoch) as number",
            "format_string('%s: broker %s, epoch %s, metadata offset %s', permits, leader, epoch,"
            " metadata_offset) as words",
        )
    )
    deleted = (
        log_start_reports(trace)
        .where("log_start > 0 and is_low")
        .join(planned, on="topic", how="inner")
        .join(deletion_orders(trace), on="topic", how="left")
        .where("deletes or ordered_micros <= first_micros")
        .groupBy(*_LOG, "log_start")
        .agg(F.min("first_micros").alias("at_micros"), F.max("reason").alias("reason"))
        .selectExpr(
            *_LOG,
            "at_micros",
            "'deletion' as cause",
            "log_start as number",
            "format_string('%s, which raised the log start to %s',"
            " coalesce(reason, 'a deletion'), log_start) as words",
        )
    )
    created = present.where("creation > 0").selectExpr(
        *_LOG,
        "created_micros as at_micros",
        "'creation' as cause",
        "created_at as number",
        "format_string('the topic was created again at metadata offset %s', created_at) as words",
    )
    # Spark takes a literal as never null, though it is so in a struct that is null.
    return (
        elected.union(deleted)
        .union(created)
        .withColumn("cause", F.expr("if(at_micros is null, null, cause)"))
        .withColumn("words", F.expr("if(at_micros is null, null, words)"))
    )


@view(string("topic"), int64("ordered_micros"))
def deletion_orders(trace: Trace) -> Frame:
    """When the run first had records of a topic deleted."""
    ordered = trace["faults"].where("fault like 'expire by %' and target like 'topic:%'")
    return ordered.groupBy(F.expr("replace(target, 'topic:') as topic")).agg(
        F.min("injected_micros").alias("ordered_micros")
    )


def with_permit(rows: Frame, trace: Trace, *, after: str, to: str, offset: str) -> Frame:
    """Rows with the first election that permits their loss by truncation.

    Adds `permit`, the event as a struct (see `permits`), null if no election permits it; and
    `is_unreported`, whether an election in between is not known, so that the absence of a permit
    proves nothing. An election that permits came after the epoch that held the records, not after
    the one that took over, and started at or below the offset, or with a log that lacked that
    epoch: also where that is not known.

    Args:
        rows: with topic, partition, of the present topic of that name.
        trace: the run.
        after: the epoch that held the records, in SQL; null if it is not known.
        to: the epoch that took over without them, in SQL.
        offset: the first offset that is lost, in SQL.
    """
    is_between = "{0} > {1} and {0} <= {2}"
    permitting = is_between.format("one.number", after, to)
    is_known = is_between.format("one.epoch", after, to)
    known = rows if "timeline" in rows.columns else with_timelines(rows, trace)
    return (
        known.join(_elections_of_log(trace), on=list(_LOG), how="left")
        .withColumn(
            "permit",
            F.expr(
                f"array_min(filter(_elections_permitting, one -> {permitting}"
                f" and not {keeps('one.number', after, offset)}))"
            ),
        )
        .withColumn(
            "is_unreported",
            F.expr(
                f"coalesce({after}, -1) < 0"
                f" or not coalesce(exists(_elections_known, one -> one.epoch = {to}), false)"
                f" or exists(_elections_known, one -> {is_known} and one.kind = 'unknown')"
            ),
        )
        .select(*rows.columns, "permit", "is_unreported")
    )


def with_permit_since(commits: Frame, trace: Trace, *, offset: str) -> Frame:
    """Stored commits with the first election since that permits the loss of an offset.

    Adds the columns of `with_permit`.

    Args:
        commits: with topic, partition, led_epoch, of the present topic of that name.
        trace: the run.
        offset: in SQL.
    """
    known = commits if "timeline" in commits.columns else with_timelines(commits, trace)
    last = "array_max(timeline).leader_epoch"
    return with_permit(known, trace, after="led_epoch", to=last, offset=offset)


@fact(*LOG, int64("permitted_from"))
def permitted_from(trace: Trace) -> Frame:
    """From where on records may be gone with a permit.

    The lowest start of an epoch whose election permits a loss, or is not known; 0 where it is not
    known where it started. Only partitions that had such an election.
    """
    start = "array_min(filter(timeline, one -> one.leader_epoch = epoch)).start_low"
    permitting = permits(trace).where("cause = 'election'").selectExpr(*_LOG, "number as epoch")
    unknown = _present(trace).where("kind = 'unknown'").selectExpr(*_LOG, "bigint(epoch) as epoch")
    either = permitting.union(unknown)
    if either.isEmpty():
        return either.selectExpr(*_LOG, "bigint(0) as permitted_from")
    return (
        with_timelines(either, trace)
        .selectExpr(*_LOG, f"coalesce({start}, 0) as start")
        .groupBy(*_LOG)
        .agg(F.min("start").alias("permitted_from"))
    )


@fact(
    *LOG,
    structs("_elections_known", int32("epoch"), string("kind")),
    structs("_elections_permitting", *EVENT),
)
def _elections_of_log(trace: Trace) -> Frame:
    """The elections of the last creation of each partition."""
    permitting = (
        permits(trace)
        .where("cause = 'election'")
        .groupBy(*_LOG)
        .agg(F.collect_list(F.struct(*OF_EVENT)).alias("_elections_permitting"))
    )
    return (
        _present(trace)
        .groupBy(*_LOG)
        .agg(F.collect_list(F.struct("epoch", "kind")).alias("_elections_known"))
        .join(permitting, on=list(_LOG), how="left")
    )


def _present(trace: Trace) -> Frame:
    """The elections of topics as they are at the end."""
    present = creations(trace).where("is_last")
    return elections(trace).join(present, on=[*_LOG, "creation"], how="left_semi")


def with_later_permit(
    lost: Frame,
    trace: Trace,
    *,
    since: str = "answered_micros",
    offset: str = "offset",
    until: str = "",
) -> Frame:
    """What the log lacks, with `permit`: the first event since that permits its loss.

    A struct (see `permits`); null if there is none. An election permits as of `with_permit`, a
    deletion what lies below the log start.

    Args:
        lost: with topic, partition, of the present topic of that name.
        trace: the run.
        since: SQL, when the log had it.
        offset: SQL, where; null where that is not known.
        until: SQL, by when it has to be over; null, or empty: at any time.
    """
    events = (
        permits(trace).groupBy(*_LOG).agg(F.collect_list(F.struct(*OF_EVENT)).alias("_permits"))
    )
    last = f"coalesce({until} + {trace.clock_micros}, one.at_micros)" if until else "one.at_micros"
    permitting = f"""
        one.at_micros between {since} - {trace.clock_micros} and {last} and case one.cause
            when 'election' then not {keeps("one.number", "cast(null as int)", offset)}
            when 'deletion' then one.number > {offset}
            else true
        end
    """
    return (
        with_timelines(lost, trace)
        .join(events, on=list(_LOG), how="left")
        .withColumn("permit", F.expr(f"array_min(filter(_permits, one -> {permitting}))"))
        .drop("_permits", "timeline")
    )


def with_marker_permit(writes: Frame, trace: Trace) -> Frame:
    """Writes with `marker_permit`: the first event that permits the loss of their own marker.

    Only of those that an abort marker ends, though their client had committed them: it may be that
    of a later transaction of the producer. An election that kept it lost none before it.

    Args:
        writes: with topic, partition, reported, marker, marker_at, commit_micros.
        trace: the run.
    """
    known = with_later_permit(writes, trace, since="commit_micros", offset="marker_at")
    is_lost = "reported = 'committed' and marker = 'abort' and permit.cause = 'election'"
    return known.withColumn("marker_permit", F.expr(f"if({is_lost}, permit, null)")).drop("permit")


def with_offsets_permit(lost: Frame, trace: Trace, *, since: str, partition: str) -> Frame:
    """Commits that are lost, with `permit`: the first event since that permits it.

    A struct (see `permits`), of the group's partition of `__consumer_offsets`; null if there is
    none.

    Args:
        lost: rows.
        trace: the run.
        since: SQL, a time.
        partition: SQL, that partition; null: any.
    """
    events = (
        permits(trace)
        .where(f"topic = {literal(OFFSETS_TOPIC)}")
        .agg(F.collect_list(F.struct(*OF_EVENT, "partition")).alias("_permits"))
    )
    permitting = (
        f"one.at_micros > {since} - {trace.clock_micros}"
        f" and coalesce(one.partition = {partition}, true)"
    )
    return (
        lost.crossJoin(events)
        .withColumn("permit", F.expr(f"array_min(filter(_permits, one -> {permitting}))"))
        .drop("_permits")
    )
