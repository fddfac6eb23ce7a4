"""How the log start came to pass an offset: which deletion of records, when, and by what reason."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, structs
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64, string

_LOG = ("topic", "partition")
_FOLLOWED = "leader offset increment"
"""A follower's reason: its leader's log start is there already."""


def with_deletion(rows: Frame, trace: Trace, *, offset: str) -> Frame:
    """Rows with `deletion`, the first deletion that the servers logged of records up to an offset.

    A struct of at_micros, log_start, reason (as Kafka words it) and broker; null if none was
    logged.

    Args:
        rows: with topic, partition.
        trace: the run.
        offset: the offset, in SQL.
    """
    return (
        rows.join(_deletions(trace), on=list(_LOG), how="left")
        .withColumn(
            "deletion", F.expr(f"array_min(filter(_deletions, one -> one.log_start > {offset}))")
        )
        .drop("_deletions")
    )


def deletion_in_words() -> Column:
    """Of rows of `with_deletion`: the event; empty if no deletion was logged."""
    return F.when(
        F.col("deletion").isNotNull(),
        F.format_string(
            " by %s on broker %s, which raised the log start to %s",
            "deletion.reason",
            "deletion.broker",
            "deletion.log_start",
        ),
    ).otherwise("")


@fact(
    *LOG,
    structs(
        "_deletions", int64("at_micros"), int64("log_start"), string("reason"), int32("broker")
    ),
)
def _deletions(trace: Trace) -> Frame:
    """Deletions that the servers logged; their structs sort by when they were."""
    own = trace.present("log_start_changes").where(F.col("reason") != _FOLLOWED)
    return (
        of_present_topic(own, trace, "at_micros")
        .withColumnRenamed("log_start_offset", "log_start")
        .groupBy(*_LOG)
        .agg(
            F.collect_list(F.struct("at_micros", "log_start", "reason", "broker")).alias(
                "_deletions"
            )
        )
    )
