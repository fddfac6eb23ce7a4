"""A partition's log is a tree of leader epochs: which branch survived, and what was abandoned.

The surviving branch is what the leader-epoch-checkpoints of the surviving replicas hold. A record
(offset, epoch) lies on an abandoned branch if a later epoch starts at or below its offset there.
Then an offset may have several values: in the surviving log, or as groups were given them.
"""

from analysis.statements.facts import fact_named

reads = fact_named("branch_reads")
abandoned = fact_named("abandoned_branches")
