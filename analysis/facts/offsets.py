"""What the coordinators' log holds of each group: the commits that survived, in their order.

A replica of `__consumer_offsets` on a broker that never returned may hold commits that its
partition has lost. What a group resumes from is in the log of the last in-sync replicas.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.positions import PARTITION
from analysis.facts.state import of_present_topic
from analysis.facts.trace import Trace, fact, view
from contract.table_columns import boolean

_STORED = of_table("committed_offsets")
OFFSETS_TOPIC = "__consumer_offsets"
_COMMIT_APIS = "'OFFSET_COMMIT', 'TXN_OFFSET_COMMIT'"
IN_LOG = "struct(offsets_partition, offsets_offset, committed_micros)"
"""SQL: sorts the commits of a group, as they follow each other in the surviving log."""
IS_STORED = "not is_tombstone and (producer_id is null or producer_id < 0 or marker <=> 'commit')"
"""Whether a row of `committed_offsets` took effect."""


@view(*_STORED)
def offsets_of(trace: Trace) -> Frame:
    """Rows of `committed_offsets` in the surviving log, about topics as they are at the end."""
    return all_offsets(trace).where("survives")


@fact(
    *_STORED,
    boolean(
        "survives",
        "whether a replica in the last ISR of its partition holds it, or that is not known",
    ),
)
def all_offsets(trace: Trace) -> Frame:
    """Rows of `committed_offsets` about topics as they are at the end."""
    last_isr = (
        trace["leaderships"]
        .where(f"topic = '{OFFSETS_TOPIC}'")
        .groupBy(F.col("partition").alias("offsets_partition"))
        .agg(F.max_by("isr", "metadata_offset").alias("_isr"))
    )
    return (
        of_present_topic(client_offsets(trace), trace, "committed_micros")
        .join(last_isr, on="offsets_partition", how="left")
        .withColumn(
            "survives",
            F.expr("coalesce(size(_isr) = 0 or arrays_overlap(brokers, _isr), true)"),
        )
    )


@fact(*_STORED)
def client_offsets(trace: Trace) -> Frame:
    """Rows of `committed_offsets`, without those of groups that only single requests commit for.

    A group of the plan has clients, and its commits are theirs.
    """
    stored = trace["committed_offsets"]
    if trace.problem("wire_calls") or not trace.rows["wire_calls"]:
        return stored
    planned = trace.groups.select("group")
    alone = (
        trace["wire_calls"]
        .where(f"api in ({_COMMIT_APIS}) and group is not null")
        .select("group")
        .distinct()
        .join(planned, on=["group"], how="left_anti")
    )
    return stored.join(alone, on=["group"], how="left_anti")


def last_commits(rows: Frame) -> Frame:
    """The last of the stored commits, by group, topic, partition.

    Offsets that a transaction sent count once its commit marker is stored.

    Args:
        rows: of `offsets_of`.

    Returns:
        group, topic, partition, committed_offset, committed_epoch, committed_micros.
    """
    return (
        rows.where(IS_STORED)
        .groupBy(*PARTITION)
        .agg(
            F.max_by("offset", F.expr(IN_LOG)).alias("committed_offset"),
            F.max_by("committed_epoch", F.expr(IN_LOG)).alias("committed_epoch"),
            F.max_by("committed_micros", F.expr(IN_LOG)).alias("committed_micros"),
        )
    )
