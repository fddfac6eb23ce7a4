"""The genuine runs that lies are planted in."""

from bench.lies.genuine import Story

BASELINE = "baseline"
TRUNCATION = "truncation"
TRANSACTIONS = "transactions"
RETENTION = "retention"
PROTOCOL = "protocol"
COMMITS = "wire_commits"
QUORUM = "divided_quorum"

EARLIEST, RAISING = "above.record.earliest", "above.record.none"
"""Groups of TRUNCATION: one resumed at the divergence, and one raised an exception there."""
FORCED, EPOCHLESS = "above.forced.earliest", "above.none.earliest"
FIRST, SECOND = "orders.record", "orders.forced"
"""Groups of BASELINE that read the same records."""

STORIES = {
    BASELINE: Story(scenario="baseline", topics=("orders",), partitions=(0,)),
    TRUNCATION: Story(
        scenario="commit_epoch", topics=("above",), groups=(EARLIEST, RAISING, FORCED, EPOCHLESS)
    ),
    TRANSACTIONS: Story(scenario="zombie_producer", parameters={"recipe": "fence"}),
    RETENTION: Story(
        scenario="retention_deletion",
        parameters={"by": "time", "leader": "unchanged"},
        partitions=(0,),
    ),
    PROTOCOL: Story(scenario="epoch_protocol"),
    COMMITS: Story(scenario="txn_offset_commit", parameters={"part": "wire"}),
    QUORUM: Story(
        scenario="quorum_divergence", parameters={"recipe": "isolated", "controllers": 3}
    ),
}
