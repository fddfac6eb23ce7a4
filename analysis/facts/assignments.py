"""Who read a partition for its group, from its assignment on: what checks of groups judge."""

from analysis.facts.positions import PARTITION
from analysis.statements.facts import fact_named

ASSIGNMENT = (*PARTITION, "member", "from_seq")

commits_at_start = fact_named("commits_at_start")
