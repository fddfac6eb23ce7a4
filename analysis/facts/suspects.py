"""Which buckets of a large trace need a closer look, record by record.

Those about which sources differ (`analysis.facts.orderly`), and those where times, the order of
records or transactions may matter to a check. Each condition here stands for checks that look at
single records: it must hold wherever they could find anything.
"""

from collections.abc import Iterator
from functools import reduce

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from analysis.facts.absences import absences
from analysis.facts.cuts import replicated_above
from analysis.facts.digests import BUCKET, LOG, bucket_of, buckets_of, with_bucket
from analysis.facts.fates import committed_readers, ends, fenced, offset_commits
from analysis.facts.load import Trace
from analysis.facts.orderly import fated, log_buckets, unlike_in_groups, unlike_in_logs
from analysis.facts.reigns import fork_of, reigns, small_isrs
from analysis.facts.sessions import ranges_passed
from analysis.facts.standstills import OUTAGE_SECONDS, STALE_SECONDS, reported_ends, standstills
from analysis.facts.stretches import given
from contract.tables import MICROS_PER_SECOND

_TRANSACTION = ("producer", "transaction")


def suspects(trace: Trace) -> Frame:
    """(topic, partition, _bucket): in need of a closer look."""
    return reduce(Frame.union, [one.select(*BUCKET) for one in _all(trace)]).distinct()


def _all(trace: Trace) -> Iterator[Frame]:
    yield unlike_in_logs(trace)
    yield unlike_in_groups(trace)
    yield from _broken_stretches(trace)
    yield from _late_answers(trace)
    yield _beyond_forks(trace)
    yield absences(trace).select(*LOG, buckets_of("from_offset", "to_offset - 1").alias(BUCKET[-1]))
    yield _passed(trace)
    yield from _waits(trace)
    yield _out_of_order(trace)
    yield _log_starts(trace)
    yield _replicated(trace)
    if trace.rows["transactions"]:
        yield from _transactions(trace)


def _broken_stretches(trace: Trace) -> Iterator[Frame]:
    """Stretches that do not have every offset from their first to their last."""
    for stretches in (fated(trace), given(trace)):
        yield stretches.where("last_offset - first_offset + 1 != records")


def _late_answers(trace: Trace) -> Iterator[Frame]:
    """What may have been acknowledged after its epoch, or with too few replicas in sync."""
    epochs = (
        log_buckets(trace)
        .where("is_kept")
        .select(*BUCKET, "leader_epoch")
        .union(given(trace).select(*BUCKET, "leader_epoch"))
        .distinct()
    )
    ended = reigns(trace).select(*LOG, F.col("epoch").alias("leader_epoch"), "until_micros")
    yield (
        epochs.join(F.broadcast(ended), on=[*LOG, "leader_epoch"], how="inner")
        .join(log_buckets(trace).select(*BUCKET, "answered_last"), on=list(BUCKET), how="inner")
        .where(f"answered_last >= until_micros - {trace.clock_micros}")
    )
    small = small_isrs(trace).select(*LOG, "at_micros", "until_micros")
    yield (
        fated(trace)
        .where("acks = 'all'")
        .join(F.broadcast(small), on=list(LOG), how="inner")
        .where("intended_last > at_micros")
        .where("until_micros is null or answered_first < until_micros")
    )


def _beyond_forks(trace: Trace) -> Frame:
    """What was given of an epoch beyond where the surviving branch leaves it."""
    return (
        given(trace)
        .join(F.broadcast(trace.epoch_starts), on=list(LOG), how="inner")
        .where(f"last_offset >= {fork_of('leader_epoch')}")
    )


def _passed(trace: Trace) -> Frame:
    """What a member went past within a session, though its group may see it."""
    levels = F.broadcast(trace.readers.select("group", "isolation"))
    is_seen = F.expr("isolation = 'read_uncommitted' or transaction is null or fate = 'committed'")
    pieces = (
        ranges_passed(trace)
        .join(levels, on="group", how="left")
        .select("isolation", *LOG, "gap_first", "gap_last")
        .distinct()
    )
    return (
        fated(trace)
        .select(*BUCKET, "first_offset", "last_offset", "transaction", "fate")
        .join(F.broadcast(pieces), on=list(LOG), how="inner")
        .where("gap_first <= last_offset and gap_last >= first_offset")
        .where(F.coalesce(is_seen, F.expr("true")))
    )


def _waits(trace: Trace) -> Iterator[Frame]:
    """Values that waited for their answer, and those that members stood before."""
    yield fated(trace).where(f"waited_micros >= {OUTAGE_SECONDS * MICROS_PER_SECOND}")
    stood = with_bucket(standstills(trace).selectExpr(*LOG, "first_offset as _at"), "_at")
    yield (
        fated(trace)
        .where("transaction is null")
        .join(F.broadcast(stood), on=list(BUCKET), how="inner")
        .where("_at between first_offset and last_offset")
    )
    ends = with_bucket(
        reported_ends(trace).selectExpr(*LOG, "first_offset as _at", "until_micros"), "_at"
    )
    yield (
        fated(trace)
        .where("transaction is null")
        .join(F.broadcast(ends), on=list(BUCKET), how="inner")
        .where("_at between first_offset and last_offset")
        .where(f"until_micros - answered_first >= {STALE_SECONDS * MICROS_PER_SECOND}")
    )


def _out_of_order(trace: Trace) -> Frame:
    """A producer's stretches that lie before ones that it sent earlier, and those."""
    in_stream = Window.partitionBy("producer", *LOG).orderBy("first_sequence", "first_offset")
    before = in_stream.rowsBetween(Window.unboundedPreceding, -1)
    after = in_stream.rowsBetween(1, Window.unboundedFollowing)
    return (
        fated(trace)
        .withColumn("_sequence_before", F.max("last_sequence").over(before))
        .withColumn("_offset_before", F.max("last_offset").over(before))
        .withColumn("_sequence_after", F.min("first_sequence").over(after))
        .withColumn("_offset_after", F.min("first_offset").over(after))
        .where(
            "first_sequence <= _sequence_before or first_offset <= _offset_before"
            " or last_sequence >= _sequence_after or last_offset >= _offset_after"
        )
    )


def _log_starts(trace: Trace) -> Frame:
    """Where a log start ever was."""
    told = trace["samples"].where("log_start_offset > 0").select(*LOG, "log_start_offset")
    at_end = trace["log_starts"].where("log_start_offset > 0").select(*LOG, "log_start_offset")
    return told.union(at_end).withColumn("_bucket", bucket_of("log_start_offset"))


def _replicated(trace: Trace) -> Frame:
    """What followers had that were truncated below it."""
    had = F.broadcast(replicated_above(trace))
    return (
        fated(trace)
        .where("acks = 'all'")
        .join(had, on=list(LOG), how="inner")
        .where("last_offset >= greatest(to_offset, start) and first_offset < end")
        .where("intended_last >= since and answered_first <= until")
    )


def _transactions(trace: Trace) -> Iterator[Frame]:
    """Writes whose end is not clear, not that of their offsets, too late, or amid what was read.

    An end is not clear either where the marker contradicts the response to the client.
    """
    written = fated(trace).where("transaction is not null")
    yield written.where("fate not in ('committed', 'aborted') or marker is null or is_split")
    yield written.where("told != 'unknown' and told != fate")
    of_partition = Window.partitionBy(*LOG, *_TRANSACTION)
    yield (
        written.withColumn("_least", F.min("marker").over(of_partition))
        .withColumn("_most", F.max("marker").over(of_partition))
        .where("_least != _most")
    )
    with_offsets = F.broadcast(offset_commits(trace).where("marker = 'commit'"))
    yield written.where("marker = 'abort'").join(
        with_offsets, on=list(_TRANSACTION), how="left_semi"
    )
    yield written.join(F.broadcast(fenced(trace)), on=list(_TRANSACTION), how="inner").where(
        "intended_last > raised_micros"
    )
    commits = ends(trace).where("commit_micros is not null").select(*_TRANSACTION, "commit_micros")
    pieces = written.select(*BUCKET, *_TRANSACTION, "first_offset", "last_offset").join(
        F.broadcast(commits), on=list(_TRANSACTION), how="inner"
    )
    yield (
        given(trace)
        .join(F.broadcast(committed_readers(trace)), on=["group", "topic"], how="left_semi")
        .selectExpr(*BUCKET, "first_offset as _from", "last_offset as _to", "at_micros")
        .join(pieces, on=list(BUCKET), how="inner")
        .where("_from <= last_offset and _to >= first_offset and at_micros < commit_micros")
    )
    read_to = (
        offset_commits(trace)
        .select(*LOG, (F.col("offset") - 1).alias("_end"))
        .distinct()
        .withColumn("_bucket", bucket_of("_end"))
    )
    yield (
        written.select(*BUCKET, "first_offset", "last_offset")
        .join(read_to, on=list(BUCKET), how="inner")
        .where("first_offset <= _end and _end < last_offset")
    )
