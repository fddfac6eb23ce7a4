"""The stored commits, each with what can be known of its offset: what several checks judge.

What was committed is taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import literal
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named
from contract.outcomes import CommitEpoch

OF_RECORDS = (str(CommitEpoch.RECORD), str(CommitEpoch.APPLICATION))
"""Styles by which the epoch of the record before is committed."""
IS_CHOSEN = (
    f"coalesce(commit_epoch, '{CommitEpoch.RECORD}') not in ({', '.join(map(literal, OF_RECORDS))})"
)
"""The group's style of committing does not take the epoch of the record before."""


def with_manner(rows: Frame, trace: Trace) -> Frame:
    """Add is_by_client: whether the group's client commits by itself, and reports no commit."""
    unreported = [one.group for one in trace.plan.groups if one.commits_by_itself]
    return rows.withColumn("is_by_client", F.col("group").isin(unreported))


stored_commits = fact_named("stored_commits")
stored_otherwise = fact_named("stored_otherwise")
asked_commits = fact_named("asked_commits")
