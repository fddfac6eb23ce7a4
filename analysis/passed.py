"""The offsets that members went past within a session."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.digests import BUCKET, buckets_of, with_bucket
from analysis.load import Trace
from analysis.sessions import gaps


def passed(trace: Trace) -> DataFrame:
    """The offsets of `gaps`, of a large trace those in need of a closer look.

    Columns: group, member, topic, partition, offset, kind, prev_epoch, next_epoch, at_micros.
    """
    return trace.shared("passed", lambda: _passed(trace), is_close=True)


def _passed(trace: Trace) -> DataFrame:
    pieces = gaps(trace)
    if not trace.is_small:
        in_buckets = pieces.select("*", buckets_of("gap_first", "gap_last").alias("_bucket"))
        near = in_buckets.join(closeup.doubtful(trace), on=list(BUCKET), how="left_semi")
        pieces = near.drop("_bucket").distinct()
    offsets = F.explode(F.expr("sequence(gap_first, gap_last)")).alias("offset")
    each = pieces.select("*", offsets).drop("gap_first", "gap_last")
    if trace.is_small:
        return each
    return (
        with_bucket(each)
        .join(closeup.doubtful(trace), on=list(BUCKET), how="left_semi")
        .drop("_bucket")
    )


def on_branch() -> Column:
    """Whether a record's `leader_epoch` fits between those of the records around what was passed.

    One of another branch was appended later, or truncated before.
    """
    return F.expr(
        "(prev_epoch < 0 or leader_epoch >= prev_epoch)"
        " and (next_epoch < 0 or leader_epoch <= next_epoch)"
    )
