"""Where groups began, what they went past, and what was delivered to them again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.beginnings import beginnings
from analysis.digests import outside
from analysis.load import Trace
from analysis.positions import PARTITION, endings, positions
from analysis.state import of_present_topic
from harness.contract.outcomes import Isolation


def never_delivered(trace: Trace) -> DataFrame:
    """(group, topic, partition, offset, leader_epoch): surviving records that a group went past.

    A record counts as delivered if its value was, at whatever offset: a truncation gives an offset
    to another record. What a transaction wrote is not told of groups that read committed values:
    whether they should have it is for `torn_transaction` to judge.
    """
    return trace.shared("never_delivered", lambda: _never_delivered(trace), is_close=True)


def _never_delivered(trace: Trace) -> DataFrame:
    is_passed = (F.col("offset") >= F.col("first_offset")) & (
        F.col("offset") < F.col("final_position")
    )
    reached = F.broadcast(final_positions(trace))
    passed = closeup.surviving(trace).join(reached, on=["topic", "partition"], how="inner")
    delivered = of_present_topic(closeup.polls(trace), trace, "polled_micros")
    missed = outside(passed.where(is_passed), delivered, *PARTITION, "value")
    committed = [
        group.group for group in trace.plan.groups if group.isolation == Isolation.READ_COMMITTED
    ]
    if committed:
        written = closeup.sends(trace).where("transaction is not null").select("value").distinct()
        is_hidden = F.col("group").isin(committed) & F.col("_written").isNotNull()
        missed = missed.join(
            written.withColumn("_written", F.lit(1)), on="value", how="left"
        ).where(~is_hidden)
    return missed.select(*PARTITION, "offset", "leader_epoch")


def final_positions(trace: Trace) -> DataFrame:
    """How far groups went that did not end by raising.

    Columns: group, topic, partition, first_offset, final_position.

    first_offset as of `beginnings`; final_position as in `positions`.
    """
    calm = endings(trace).where(F.col("last_change") != "failed").select("group")
    return (
        positions(trace)
        .join(beginnings(trace), on=list(PARTITION), how="inner")
        .join(calm, on="group", how="left_semi")
        .select(*PARTITION, "first_offset", F.col("position").alias("final_position"))
    )


def repeated(trace: Trace) -> DataFrame:
    """Records that a group was delivered more than once.

    Columns: group, topic, partition, offset, value, deliveries, last_micros.
    """
    return trace.shared("repeated", lambda: _repeated(trace), is_close=True)


def _repeated(trace: Trace) -> DataFrame:
    return (
        closeup.polls(trace)
        .groupBy(*PARTITION, "offset", "value")
        .agg(F.count(F.lit(1)).alias("deliveries"), F.max("polled_micros").alias("last_micros"))
        .where("deliveries > 1")
    )
