"""Which election permits a loss of records."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, each, structs
from analysis.facts.elections import elections
from analysis.facts.state import keeps, with_timelines
from analysis.facts.topics import creations
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")
_PERMIT = ("epoch", "leader", "metadata_offset", "at_micros", "permits")
_LATER = ("at_micros", "epoch", "leader", "metadata_offset", "permits")


def with_permit(rows: Frame, trace: Trace, *, after: str, to: str, offset: str) -> Frame:
    """Rows with the first election that permits their loss by truncation.

    Adds `permit`, a struct of epoch, leader, metadata_offset, at_micros and permits (in words),
    null if no election permits it; and `is_unreported`, whether an election in between is not
    known, so that the absence of a permit proves nothing. An election that permits came after the
    epoch that held the records, not after the one that took over, and started at or below the
    offset: also where it is not known where it started.

    Args:
        rows: with topic, partition, of the present topic of that name.
        trace: the run.
        after: the epoch that held the records, in SQL; null if it is not known.
        to: the epoch that took over without them, in SQL.
        offset: the first offset that is lost, in SQL.
    """
    is_between = f"one.epoch > {after} and one.epoch <= {to}"
    known = rows if "timeline" in rows.columns else with_timelines(rows, trace)
    return (
        known.join(_elections_of_log(trace), on=list(_LOG), how="left")
        .withColumn(
            "permit",
            F.expr(
                f"array_min(filter(_elections_permitting, one -> {is_between}"
                f" and not {keeps(after, offset)}))"
            ),
        )
        .withColumn(
            "is_unreported",
            F.expr(
                f"coalesce({after}, -1) < 0"
                f" or not coalesce(exists(_elections_known, one -> one.epoch = {to}), false)"
                f" or exists(_elections_known, one -> {is_between} and one.kind = 'unknown')"
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

    The lowest start of an epoch whose election permits a loss; 0 where it is not known where it
    started. Only partitions that had such an election.
    """
    start = "array_min(filter(timeline, one -> one.leader_epoch = epoch)).start_low"
    permits = _of_present_topics(trace).where("permits is not null or kind = 'unknown'")
    if permits.isEmpty():
        return permits.selectExpr(*_LOG, "bigint(0) as permitted_from")
    return (
        with_timelines(permits.select(*_LOG, "epoch"), trace)
        .selectExpr(*_LOG, f"coalesce({start}, 0) as start")
        .groupBy(*_LOG)
        .agg(F.min("start").alias("permitted_from"))
    )


@fact(
    *LOG,
    structs("_elections_known", int32("epoch"), string("kind")),
    structs(
        "_elections_permitting",
        *each(int32, "epoch leader"),
        *each(int64, "metadata_offset at_micros"),
        string("permits"),
    ),
)
def _elections_of_log(trace: Trace) -> Frame:
    """The elections of the last creation of each partition."""
    return (
        _of_present_topics(trace)
        .groupBy(*_LOG)
        .agg(
            F.collect_list(F.struct("epoch", "kind")).alias("_elections_known"),
            F.collect_list(F.when(F.col("permits").isNotNull(), F.struct(*_PERMIT))).alias(
                "_elections_permitting"
            ),
        )
    )


def _of_present_topics(trace: Trace) -> Frame:
    present = creations(trace).where("is_last")
    return elections(trace).join(present, on=[*_LOG, "creation"], how="left_semi")


def with_later_permit(lost: Frame, trace: Trace) -> Frame:
    """Writes that the log lacks, with `permit`: the first election since that permits their loss.

    It is null if no election since the write's answer permits it, as of `elections.with_permit`.

    Args:
        lost: with topic, partition, offset, answered_micros.
        trace: the run.
    """
    permits = (
        elections(trace)
        .where("permits is not null")
        .groupBy(*_LOG)
        .agg(F.collect_list(F.struct(*_LATER)).alias("_permits"))
    )
    is_later = (
        f"one.at_micros + {trace.clock_micros} >= answered_micros"
        f" and not {keeps('cast(null as int)', 'offset')}"
    )
    return (
        with_timelines(lost, trace)
        .join(permits, on=list(_LOG), how="left")
        .withColumn("permit", F.expr(f"array_min(filter(_permits, one -> {is_later}))"))
        .drop("_permits", "timeline")
    )
