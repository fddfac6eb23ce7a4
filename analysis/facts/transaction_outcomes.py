"""How each transaction ended: by the marker that ends it in the log, else by its client's answer.

A refused EndTxn proves nothing: an earlier attempt, whose answer was lost, may have come through.
"""

from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

RETRY_MICROS = MICROS_PER_SECOND // 10
"""`retry.backoff.ms`: a request that took less was tried once."""

MARKED_SECONDS = 10
"""Every partition of a transaction that has ended has its marker after so long."""

committed_readers = fact_named("committed_readers")
ends = fact_named("transaction_ends")
offset_commits = fact_named("offset_commits")
fenced = fact_named("fenced_transactions")
