"""Where a member was delivered lower offsets again, within a session of reading."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.offsets import IS_STORED, client_offsets
from analysis.facts.positions import PARTITION
from analysis.facts.sessions import JUMPS, jumps
from analysis.facts.trace import Trace, view
from contract.table_columns import boolean


@view(
    *JUMPS,
    boolean("is_commit", "whether the group had committed that offset"),
    boolean(
        "is_permitted",
        "it had, and the member went back there from one poll to the next, which a rebalance does"
        " that is over within one poll",
    ),
)
def moved_back(trace: Trace) -> Frame:
    """Rows of `jumps` that go back although reading did not start over."""
    back = jumps(trace).where("not is_anew and reset_to is null and first_offset <= prev_offset")
    stored = (
        client_offsets(trace)
        .where(IS_STORED)
        .groupBy(*PARTITION, F.col("offset").alias("first_offset"))
        .agg(F.min("committed_micros").alias("_committed"))
    )
    return (
        back.join(stored, on=[*PARTITION, "first_offset"], how="left")
        .withColumn(
            "is_commit", F.expr(f"coalesce(_committed <= at_micros + {trace.clock_micros}, false)")
        )
        .withColumn("is_permitted", F.expr("is_commit and seq != prev_seq"))
    )
