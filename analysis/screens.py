"""Where a large trace's sources tell the same records, so that only the rest is joined one by one.

See `analysis.digests`. On a small trace nothing is screened: a join costs less than to ask.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.digests import BUCKET, alike, digests, missing_from, outside, with_bucket
from analysis.load import Trace

_LOG = ("topic", "partition")
_GROUP = ("group", *_LOG)


def not_surviving(trace: Trace) -> DataFrame:
    """Acknowledged sends whose value is not in the surviving log."""
    sends, keys = trace.acknowledged, (*_LOG, "value")
    if trace.is_small:
        return sends.join(trace.surviving, on=list(keys), how="left_anti")
    doubtful = outside(with_bucket(sends), _sent_alike(trace)).drop("_bucket")
    return missing_from(trace.materialized(doubtful), trace.surviving, *keys)


def not_delivered(wanted: DataFrame, trace: Trace) -> DataFrame:
    """Surviving records that a group should have had, and never had, at whatever offset.

    Args:
        wanted: records of the surviving log with their `group`.
        trace: the run.
    """
    keys = (*_GROUP, "value")
    delivered = trace["polls"].select(*keys)
    if trace.is_small:
        return wanted.join(delivered.distinct(), on=list(keys), how="left_anti")
    doubtful = outside(with_bucket(wanted), _polled_alike(trace), "group").drop("_bucket")
    return missing_from(trace.materialized(doubtful), delivered, *keys)


def doubtful_polls(trace: Trace) -> DataFrame:
    """Rows of `polls`, but not of stretches that a group was given just as the log holds them.

    Where one is left out, its record was delivered to its group once, and survived.
    """
    if trace.is_small:
        return trace["polls"]
    return trace.shared(
        "doubtful_polls",
        lambda: outside(with_bucket(trace["polls"]), _polled_alike(trace), "group").drop("_bucket"),
    )


def polled_but_not_surviving(trace: Trace) -> DataFrame:
    """Rows of `polls` with whole values that are not in the surviving log."""
    polls, keys = doubtful_polls(trace).where("is_intact"), (*_LOG, "value")
    if trace.is_small:
        return polls.join(trace.surviving, on=list(keys), how="left_anti")
    return missing_from(trace.materialized(polls), trace.surviving, *keys)


def polled_but_not_sent(trace: Trace) -> DataFrame:
    """Rows of `polls` with whole values that nobody set out to send."""
    polls, intended = trace["polls"].where("is_intact"), trace["sends"].select(*_LOG, "value")
    if trace.is_small:
        return polls.join(intended, on=[*_LOG, "value"], how="left_anti")
    just_sent = _polled_alike(trace).join(F.broadcast(_sent_alike(trace)), on=list(BUCKET))
    doubtful = outside(with_bucket(polls), just_sent, "group").drop("_bucket")
    return missing_from(trace.materialized(doubtful), intended, *_LOG, "value")


def _held(trace: Trace) -> DataFrame:
    return trace.shared("held_digests", lambda: digests(trace.surviving))


def _sent_alike(trace: Trace) -> DataFrame:
    """(topic, partition, _bucket): what was acknowledged is what the log holds."""
    return trace.shared("sent_alike", lambda: alike(digests(trace.acknowledged), _held(trace)))


def _polled_alike(trace: Trace) -> DataFrame:
    """(group, topic, partition, _bucket): what a group was given is what the log holds."""
    return trace.shared(
        "polled_alike",
        lambda: alike(digests(trace["polls"], "group"), _held(trace), "group").select(
            "group", *BUCKET
        ),
    )
