"""What a topic's name stood for over time, and where the logs of its partitions began.

A topic that is deleted and created again under its name starts over: offsets, leader epochs and
records of the one prove nothing about the other (KIP-516).

An event is judged by what held at its time. What is known of that time has two bounds: a check
accuses only where both agree. Sources are, in this order, the servers' own logs (exact), the
leaders' samples, the metadata log, and the end of the run.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named

_LOG = ("topic", "partition")

creations = fact_named("creations")
created_again = fact_named("created_again")


def of_present_topic(rows: Frame, trace: Trace, at: str) -> Frame:
    """Rows whose time, a column by its name, is not before their topic was created again."""
    if _is_each_created_once(trace):
        return rows
    return with_former_topic(rows, trace, at).where("not is_of_former").drop("is_of_former")


def with_former_topic(rows: Frame, trace: Trace, at: str) -> Frame:
    """Add is_of_former: whether a time, a column by its name, is before its topic's last creation.

    Then the row is about another topic of that name.
    """
    if _is_each_created_once(trace):
        return rows.withColumn("is_of_former", F.expr("false"))
    again = created_again(trace)
    began = creations(trace).where("is_last").join(again, on=list(_LOG), how="left_semi")
    return (
        rows.join(began.select(*_LOG, "created_micros"), on=list(_LOG), how="left")
        .withColumn("is_of_former", F.expr(f"coalesce({at} < created_micros, false)"))
        .drop("created_micros")
    )


def _is_each_created_once(trace: Trace) -> bool:
    return trace.once("no topic was created again", created_again(trace).isEmpty)
