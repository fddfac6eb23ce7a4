"""The events that permit a loss or a jump: which it is, by cause and number.

Every check of a loss asks here, for the event that permits the loss of a record, a marker, a commit
or the offsets of a transaction, or a jump of a group past them.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
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
