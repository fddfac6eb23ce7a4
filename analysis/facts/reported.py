"""Values that brokers reported to the observer, in the order in which they must have known them."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame
from contract.tables import MICROS_PER_SECOND

ANSWER_MICROS = 2 * MICROS_PER_SECOND
"""A response was requested at most this long before it was recorded, where that is not recorded."""

_LOG = ("topic", "partition")


def in_order(samples: Frame, *keys: str, value: str) -> Frame:
    """Each reported value, and the largest one that was reported before the request for it.

    Two threads query at the same time, so the order in which responses were recorded proves
    nothing: only a response that was recorded before a request was sent is older than the response
    to that request.

    Returns:
        The keys, at_micros, value, before (null if none was reported before).
    """
    asked = F.coalesce("asked_micros", F.col("at_micros") - ANSWER_MICROS)
    reported = samples.select(
        *keys, F.col(value).alias("value"), "at_micros", asked.alias("_asked")
    )
    answers = reported.withColumn("_moment", F.col("at_micros")).withColumn("_reported", F.lit(1))
    questions = reported.withColumn("_moment", F.col("_asked")).withColumn("_reported", F.lit(0))
    order = Window.partitionBy(*keys).orderBy("_moment")
    earlier = order.rangeBetween(Window.unboundedPreceding, -1)
    before = F.max(F.when(F.col("_reported") == 1, F.col("value"))).over(earlier)
    return (
        answers.union(questions)
        .withColumn("before", before)
        .where("_reported = 0")
        .select(*keys, "at_micros", "value", "before")
    )
