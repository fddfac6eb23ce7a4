"""What transactions wrote, how each ended, and who waits for one."""

from analysis.statements.facts import fact_named

writes = fact_named("transactional_writes")
stalls_at_transactions = fact_named("stalls_at_transactions")
