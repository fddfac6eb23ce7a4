"""The events that permit a loss or a jump: which it is, by cause and number.

Every check of a loss asks here, for the event that permits the loss of a record, a marker, a commit
or the offsets of a transaction, or a jump of a group past them.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.client_offsets import OFFSETS_TOPIC
from analysis.facts.declared import OF_EVENT
from analysis.facts.state import keeps, with_timelines
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named

_LOG = ("topic", "partition")


permits = fact_named("permits")
deletion_orders = fact_named("deletion_orders")
permitted_from = fact_named("permitted_from")
_elections_of_log = fact_named("elections_of_log")


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
