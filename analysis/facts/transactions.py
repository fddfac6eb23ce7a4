"""What transactions wrote, how each ended, and who waits for one."""

from analysis.statements.facts import fact_named

writes = fact_named("transactional_writes")
stored_of_transactions = fact_named("stored_of_transactions")
stalls_at_transactions = fact_named("stalls_at_transactions")
