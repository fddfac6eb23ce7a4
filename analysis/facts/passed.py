"""The offsets that members went past within a session."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts import closeup
from analysis.facts.digests import BUCKET, bucket_start, buckets_of
from analysis.facts.load import Trace
from analysis.facts.sessions import ranges_passed


def passed(trace: Trace) -> Frame:
    """The offsets of `gaps`, of a large trace those in need of a closer look.

    Columns: group, member, topic, partition, offset, kind, prev_epoch, next_epoch, at_micros.
    """
    return trace.shared("passed", lambda: _passed(trace), is_close=True)


def _passed(trace: Trace) -> Frame:
    pieces = ranges_passed(trace)
    if not trace.is_small:
        pieces = (
            pieces.select("*", buckets_of("gap_first", "gap_last").alias("_bucket"))
            .join(closeup.doubtful(trace), on=list(BUCKET), how="left_semi")
            .withColumn("gap_first", F.greatest("gap_first", bucket_start()))
            .withColumn("gap_last", F.least("gap_last", bucket_start(1) - 1))
            .drop("_bucket")
        )
    offsets = F.explode(F.expr("sequence(gap_first, gap_last)")).alias("offset")
    return pieces.select("*", offsets).drop("gap_first", "gap_last")


def on_branch() -> Column:
    """Whether a record's `leader_epoch` fits between those of the records around what was passed.

    One of another branch was appended later, or truncated before.
    """
    return F.expr(
        "(prev_epoch < 0 or leader_epoch >= prev_epoch)"
        " and (next_epoch < 0 or leader_epoch <= next_epoch)"
    )
