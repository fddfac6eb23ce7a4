"""Which partitions were created once, and which anew, so that their offsets began again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis.load import Trace

_LOG = ("topic", "partition")
IS_CREATED = "leader_epoch = 0 and partition_epoch = 0"
"""Of a row of `leaderships`: with it the partition began."""


def created_once(trace: Trace) -> DataFrame:
    """(topic, partition): those of which all that was told is of one log."""
    return _creations(trace).where("creations <= 1").select(*_LOG)


def created_again(trace: Trace) -> DataFrame:
    """(topic, partition): those of topics that were deleted and created anew."""
    return _creations(trace).where("creations > 1").select(*_LOG)


def _creations(trace: Trace) -> DataFrame:
    creations = F.count_if(F.expr(IS_CREATED)).alias("creations")
    return trace.shared("creations", lambda: trace["leaderships"].groupBy(*_LOG).agg(creations))
