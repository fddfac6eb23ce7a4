"""The stored commits, each with what can be known of its offset: what several checks judge.

What was committed is taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.engine.columns import literal
from analysis.statements.facts import fact_named
from contract.outcomes import CommitEpoch

OF_RECORDS = (str(CommitEpoch.RECORD), str(CommitEpoch.APPLICATION))
"""Styles by which the epoch of the record before is committed."""
IS_CHOSEN = (
    f"coalesce(commit_epoch, '{CommitEpoch.RECORD}') not in ({', '.join(map(literal, OF_RECORDS))})"
)
"""The group's style of committing does not take the epoch of the record before."""


stored_commits = fact_named("stored_commits")
stored_otherwise = fact_named("stored_otherwise")
